// An operator has a device reset: only one that no server has, and it is not free before its host
// has cleaned it. The jobs are recorded and ended by the test; everything else is real.

import { beforeAll, beforeEach, expect, it } from 'vitest';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { JobDocument } from '#core/contracts/jobs/job-document.ts';
import { handleStateOf } from '#core/domain/device/handle-state.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { deviceUuid } from '#core/domain/report/device-plan.ts';
import { findDevice } from '#core/operations/devices/find-by-id.ts';
import { resetDevice } from '#core/operations/inventory/reset-device.ts';
import { startRelease } from '#core/operations/release/start-release.ts';
import { finishJob } from '#core/operations/work-ends/finish-job.ts';
import { aJobEnd, instanceOf } from '#test/support/builders.ts';
import { withClients, withStore } from '#test/support/deps.ts';
import { aDevice, aGpu } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const gpu = '0000:0e:00.0';
/** Its driver cleans nothing. */
const fpga = '0000:0c:00.0';
const minuteMs = 60_000;

const jobs: JobDocument[] = [];
const world = perFile(() => startWorld({ settings: { CYBORG_ATTACH_TYPES: 'MDEV,TEST_PCI' } }));
let deps: ConsumerDeps;
/** Each test has a host of its own. */
let round = 0;
const host = () => `cmp${round}`;
const instance = () => instanceOf(round);
const target = () => ({ host: host(), provider: provider(), instance: instance() });
const provider = () => providerUuid(`${host()}_Gpu`);

beforeAll(async () => {
  deps = withClients(world.deps, {
    jobs: {
      create: async (_id: string, document: JobDocument) => void jobs.push(document),
      cancel: async () => {},
      executionStatus: async () => undefined,
    },
  });
  await world.createProfile('gpu', { 'resources:VGPU': '1' });
});

beforeEach(async () => {
  round += 1;
  jobs.length = 0;
  const infos = ['a', 'b'].map((vgpu_mark) => ({ asked_type: 'fake-1', vgpu_mark }));
  await world.report(host(), [aGpu(infos), aDevice()], {}, deps);
});

const reset = (address = gpu, body: object = { reason: 'its counters grow' }) =>
  world.ask('POST', `/operator/v1/devices/${deviceUuid(host(), address)}/reset`, { body });

async function handles() {
  return (await deps.store.inventory.provider(provider()))?.handles ?? [];
}

async function states(): Promise<string[]> {
  return (await handles()).map(handleStateOf).sort();
}

/** The host answers the release of the reset. */
async function answerWith(operation: 'succeeded' | 'failed'): Promise<void> {
  const [{ release = '' } = {}] = (await handles()).filter(({ claim }) => !claim);
  await startRelease(deps, release);
  const steps = [{ kind: 'clean' }, { kind: 'clean' }];
  expect(jobs.pop()).toMatchObject({ action: 'release', steps });
  await finishJob(deps, aJobEnd(`${deps.settings.stage}-release-${release}`, { operation }));
}

async function expectRefusal(why: string, address?: string): Promise<void> {
  const before = await handles();
  const { status, json } = await reset(address);
  expect([status, json.error]).toEqual([409, expect.stringContaining(why)]);
  expect(await handles()).toEqual(before);
}

it('has the host clean each handle, and they are free when it has', async () => {
  const { status, json } = await reset();
  expect([status, json.cleaning.sort()]).toEqual([
    202,
    (await handles()).map(({ uuid }) => uuid).sort(),
  ]);
  expect(await states()).toEqual(['releasing', 'releasing']);
  await expectRefusal('its host is cleaning or programming it');
  await answerWith('succeeded');
  expect(await states()).toEqual(['free', 'free']);
});

it('has the host clean handles that it cleaned after a server', async () => {
  const before = await handles();
  await reset();
  const epochs = new Map((await handles()).map(({ uuid, epoch }) => [uuid, epoch]));
  expect(before.map(({ uuid, epoch }) => (epochs.get(uuid) ?? 0) - epoch)).toEqual([1, 1]);
});

it('leaves handles in quarantine if the host could not', async () => {
  await reset();
  await answerWith('failed');
  expect(await states()).toEqual(['quarantined', 'quarantined']);
  await expectRefusal('2 of its attach handles are in quarantine');
});

it('has a bind that comes meanwhile wait for the host', async () => {
  await reset();
  await world.createBound('gpu', target());
  expect(await states()).toEqual(['claimed', 'releasing']);
  const [claimed] = (await handles()).filter(({ claim }) => claim);
  expect(claimed?.release).toBeDefined();
  await answerWith('succeeded');
  expect(await states()).toEqual(['claimed', 'free']);
});

it('touches nothing of a device that a server has', async () => {
  await world.createBound('gpu', target());
  await expectRefusal('1 of its attach handles belong to servers');
});

it('is refused for a device that its driver does not clean', async () => {
  await expectRefusal('its driver does not clean it after a server', fpga);
});

it('is refused while the agent is away', async () => {
  const { host: stored } = await deps.store.inventory.host(host());
  const at = new Date(Date.now() - 10 * minuteMs).toISOString();
  const { inventory } = deps.store;
  await inventory.putPresence(host(), { isConnected: false, at }, stored.presence);
  const long = new Date(Date.now() - 60 * minuteMs).toISOString();
  await inventory.takeLease(host(), 'test', long, long);
  await inventory.putReport({ ...stored, lastReportAt: long }, 'test');
  await expectRefusal(`the agent of host ${host()} is not connected`);
});

it('has nothing changed where a bind takes a handle at the same moment', async () => {
  const { releases } = deps.store;
  const cleanCard: typeof releases.cleanCard = async (...request) => {
    await world.createBound('gpu', target());
    return releases.cleanCard(...request);
  };
  const racing = withStore(deps, { releases: { ...releases, cleanCard } });
  const device = await findDevice(deps, deviceUuid(host(), gpu));
  await expect(resetDevice(racing, device)).rejects.toThrow('another request has just taken it');
  expect(await states()).toEqual(['claimed', 'free']);
});

it('names what is wrong with a request', async () => {
  expect((await reset(gpu, { force: true })).status).toBe(400);
  expect((await reset('0000:ff:00.0')).status).toBe(404);
});
