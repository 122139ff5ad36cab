import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { Driver } from '#agent/drivers/contract/driver.ts';
import { createFailedPreparations } from '#agent/handles/failed-preparations.ts';
import { ImageRefused } from '#agent/images/image-check.ts';
import { createDiscovery } from '#agent/report/discover.ts';
import {
  confirmAddress,
  openConfirmations,
  type ReadConfirmations,
} from '#agent/state/confirmations.ts';
import { openStateFiles } from '#agent/state/state-files.ts';
import { aClock, aDriver, aReportedDevice, silentLog } from '#test/support/hosts/agent.ts';
import { sha256Of } from '#test/support/hosts/gbs.ts';
import {
  aGate,
  aJobHost,
  create,
  document,
  gpu,
  secondGpu,
  uuid,
} from '#test/support/hosts/job-host.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { directoryPerTest } from '#test/support/vitest/shared.ts';

const directory = directoryPerTest();
const files = () => openStateFiles(join(directory, 'state'));
// https://github.com/harvester/harvester/issues/4953: the device stayed allocatable.
const denied = new Error('write /sys/bus/pci/drivers/vfio-pci/bind: device or resource busy');

const card = '0000:5e:00.0';
const interfaceUuid = uuid(1);
const bytes = Buffer.from('image');
const image = {
  id: uuid(2),
  sha256: sha256Of(bytes),
  bytes: bytes.length,
  url: 'https://images.s3.eu-central-1.amazonaws.com/1',
};
const region = 'region0';
const writes = vi.fn(async () => {
  throw new ImageRefused('Port shows function 2, and the image has 1.');
});
/** An FPGA that finds the fault of an image only when it is written. */
const fpga: Driver = {
  ...aDriver(
    'fpgas',
    aReportedDevice({
      address: card,
      regions: [
        {
          name: region,
          kind: 'reconfigurable-region',
          resource_class: 'FPGA',
          traits: [],
          attach_handles: [],
          'region-type-uuid': interfaceUuid,
        },
      ],
    }),
  ),
  images: { check: async () => {}, write: writes },
};
const programRegion = (given: object = {}) => ({
  kind: 'prepare',
  driver: 'fpgas',
  address: card,
  region,
  content: { image },
  ...given,
});

async function aHost(device = gpu) {
  const clock = aClock();
  const failures = createFailedPreparations(
    clock,
    openConfirmations(files(), silentLog),
    silentLog,
  );
  const host = await aJobHost(directory, { failures, other: fpga });
  host.connect();
  let fails = false;
  host.gpus.hooks.beforeCreate = async () => {
    if (fails) throw denied;
  };
  let servers = 0;
  const described = aReportedDevice({ address: device });
  const run = async (action: string, given: object) => {
    const jobId = await host.service.create(document(action, given));
    await eventually(() => host.service.job(jobId).status).toBe(fails ? 'FAILED' : 'SUCCEEDED');
  };
  return {
    clock,
    run,
    fail: () => {
      fails = true;
    },
    describe: (given: object) => Object.assign(described, given),
    /** Boots servers on a GPU, one after another. */
    async boot(outcomes: string, address = gpu) {
      for (const outcome of outcomes) {
        servers += 1;
        fails = outcome === 'x';
        const bind_id = uuid(1_000 + servers);
        await run('prepare', { bind_id, steps: [create(servers, { address, bind_id })] });
      }
    },
    /** The health of the device in a report. */
    async health() {
      const drivers = [aDriver('gpus', described)];
      const discover = createDiscovery({ drivers, faults: [failures], clock, log: silentLog });
      return (await discover()).devices[0]?.device.health;
    },
  };
}

const withheld = {
  state: 'unhealthy',
  reason: `could not be made ready for 3 binds in a row: ${denied.message}`,
  next_step: expect.stringContaining(`cyborg-agent confirm ${gpu}`),
};

/** What one device has had, without a host. */
function failuresOf(address: string, confirmations: ReadConfirmations) {
  const failures = createFailedPreparations(aClock(), confirmations, silentLog);
  let binds = 0;
  const attempt = (work: () => Promise<void>) => {
    binds += 1;
    return failures.attemptAt(address, uuid(binds))(work);
  };
  return {
    look: () => failures.look([aReportedDevice({ address })]),
    succeed: () => attempt(async () => {}),
    fail: () => expect(attempt(() => Promise.reject(denied))).rejects.toBe(denied),
    health: () => failures.healthOf(address),
  };
}

describe('a device that cannot be made ready', () => {
  it('is unhealthy after three failures in a row, and no other device is', async () => {
    const { boot, health } = await aHost();
    await boot('xx');
    await boot('xx', secondGpu);
    expect(await health()).toBeUndefined();
    await boot('x');
    expect(await health()).toMatchObject(withheld);
    expect(await health()).toMatchObject(withheld);
  });

  it.each([
    ['a success between', 'xx.xx'],
    ['a success after them', 'xxx.'],
  ])('is healthy with %s', async (_what, outcomes) => {
    const { boot, health } = await aHost();
    await boot(outcomes);
    expect(await health()).toBeUndefined();
  });

  it('is healthy if the failures are more than an hour apart', async () => {
    const { boot, health, clock } = await aHost();
    await boot('xx');
    await clock.advance(61 * 60_000);
    await boot('xx');
    expect(await health()).toBeUndefined();
    await boot('x');
    await clock.advance(24 * 60 * 60_000);
    expect(await health()).toMatchObject(withheld);
  });

  it('is healthy once an operator has confirmed it after the last failure', async () => {
    const { boot, health, clock } = await aHost();
    const confirm = () => {
      const at = new Date(clock.wallMs()).toISOString();
      return confirmAddress(files(), silentLog, gpu, { at, identity: '10de:2235' });
    };
    await confirm();
    await clock.advance(1_000);
    await boot('xxx');
    expect(await health()).toMatchObject(withheld);
    await confirm();
    expect(await health()).toBeUndefined();
    await boot('xx');
    expect(await health()).toBeUndefined();
  });

  it('is healthy once its driver describes it in another way', async () => {
    const { boot, health, describe: change } = await aHost();
    await boot('xxx');
    expect(await health()).toMatchObject(withheld);
    change({ health: { state: 'degraded', reason: 'is hot', since: '2026-11-01T00:00:00.000Z' } });
    expect(await health()).toMatchObject(withheld);
    change({ health: undefined, firmware: '2' });
    expect(await health()).toBeUndefined();
  });

  it('is healthy after a restart of the agent, until it fails again', async () => {
    const { boot, health } = await aHost();
    await boot('xxx');
    expect(await health()).toMatchObject(withheld);
    const restarted = await aHost();
    await restarted.boot('xx');
    expect(await restarted.health()).toBeUndefined();
  });

  it('is healthy while all failures are of one bind', async () => {
    const { run, boot, fail, health } = await aHost();
    const bind_id = uuid(2_000);
    fail();
    const steps = [2_001, 2_002, 2_003].map((number) => create(number, { bind_id }));
    await run('reprovision', { steps });
    expect(await health()).toBeUndefined();
    await boot('x');
    expect(await health()).toBeUndefined();
    await boot('x');
    expect(await health()).toMatchObject(withheld);
  });

  it.each([
    ['at binds', 'prepare'],
    ['by an operator', 'program'],
  ])('is healthy after refused images of regions %s', async (_when, action) => {
    mkdirSync(join(directory, 'images'));
    writeFileSync(join(directory, 'images', `${image.sha256}.image`), bytes);
    const { run, fail, health } = await aHost(card);
    fail();
    for (const number of [1, 2, 3]) {
      const bind = action === 'prepare' && { bind_id: uuid(number) };
      await run(action, { ...bind, steps: [programRegion({ ...bind })] });
    }
    expect(writes).toHaveBeenCalledTimes(3);
    expect(await health()).toBeUndefined();
  });

  it.each([
    ['a confirmation if it has a PCI address', gpu, `on the host: cyborg-agent confirm ${gpu}`],
    ['a restart if it has none', 'hgx0', 'Then restart the agent.'],
  ])('advises %s', async (_what, address, advice) => {
    const { fail, health } = failuresOf(address, async () => ({}));
    for (const _bind of [1, 2, 3]) await fail();
    expect(health()?.next_step).toMatch(new RegExp(`${advice}$`));
  });

  it('is healthy if a preparation succeeds while the confirmations are read', async () => {
    const gate = aGate();
    const device = failuresOf(gpu, () => gate.opened.then(() => ({})));
    for (const _bind of [1, 2, 3]) await device.fail();
    const look = device.look();
    await device.succeed();
    gate.open();
    await look;
    expect(device.health()).toBeUndefined();
  });

  it('keeps a failure that ends while the confirmations are read', async () => {
    const gate = aGate();
    const device = failuresOf(gpu, () => gate.opened.then(() => ({})));
    for (const _bind of [1, 2, 3]) await device.fail();
    const look = device.look();
    await device.fail();
    gate.open();
    await look;
    expect(device.health()?.reason).toContain('for 4 binds in a row');
  });
});
