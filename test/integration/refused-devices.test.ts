// Limits of what a host may report, by the deployed consumer: a device that breaks them is refused
// alone and once, and the host's other devices are stored.

import type { SQSRecord } from 'aws-lambda';
import { beforeEach, describe, expect, it } from 'vitest';
import { computeDigest } from '#core/contracts/report/device-digest.ts';
import type { InventoryReport, ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { mdevUuid } from '#core/contracts/report/mdev-uuids.ts';
import { thingName } from '#core/contracts/topics.ts';
import type { Log, LogFields } from '#core/log.ts';
import { makeConsumer } from '#functions/consumers/inventory-reports.ts';
import { withClients } from '#test/support/deps.ts';
import { aDevice, aHandle, aReport } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { stage, startWorld } from '#test/support/world.ts';

const [goodAddress, badAddress] = ['0000:0c:00.0', '0000:0d:00.0'];
const good = aDevice({ address: goodAddress, provider_suffix: undefined });
const offers = { resource_class: 'FPGA', traits: [], attach_handles: [aHandle(1)] };
const region = { ...offers, name: 'region0', kind: 'partition' as const };

const world = perFile(startWorld);
let host: string;
let hosts = 0;
let sequence = 0;
let lines: { readonly message: string; readonly fields: LogFields }[] = [];
let jobs: string[] = [];

beforeEach(() => {
  hosts += 1;
  host = `cmp${hosts}`;
  [lines, jobs] = [[], []];
});

function bad(given: Partial<ReportedDevice>): ReportedDevice {
  return aDevice({ address: badAddress, provider_suffix: undefined, ...given });
}

/** Whether the message is deleted. */
async function deliver(
  devices: readonly ReportedDevice[],
  given: Partial<InventoryReport> = {},
): Promise<boolean> {
  sequence += 1;
  const report = aReport(devices, { sequence, ...given });
  const body = {
    thing: thingName(stage, host),
    topic: 'any',
    received_at: Date.now(),
    payload: Buffer.from(JSON.stringify(report)).toString('base64'),
  };
  const say = (message: string, fields: LogFields = {}) => void lines.push({ message, fields });
  const log: Log = { debug: say, info: say, warn: say, error: say, child: () => log };
  const noted = withClients(world.deps, { jobs: { create: async (id) => void jobs.push(id) } });
  const consumer = makeConsumer({
    deps: () => ({ ...noted, log }),
    sqs: () => ({ send: () => Promise.reject(new Error('Nothing is dead-lettered.')) }),
  });
  const record = {
    messageId: 'one',
    body: JSON.stringify(body),
    attributes: { ApproximateReceiveCount: '1' },
  };
  const answer = await consumer({ Records: [record as SQSRecord] }, {} as never);
  return answer.batchItemFailures.length === 0;
}

const manifestOf = (devices: readonly ReportedDevice[]) =>
  Object.fromEntries(devices.map((device) => [device.address, computeDigest(device)]));

async function stored() {
  const { devices } = await world.deps.store.inventory.host(host);
  return devices.filter(({ isGone }) => !isGone).map(({ address }) => address);
}

describe('a device is refused, and the others of its host are stored', () => {
  it.each<[string, Partial<ReportedDevice>, RegExp]>([
    ['a standard class', { offers: { ...offers, resource_class: 'MEMORY_MB' } }, /MEMORY_MB/],
    ['another case', { offers: { ...offers, resource_class: 'CUSTOM_x' } }, /CUSTOM_x/],
    [
      'a trait of storage',
      { offers: { ...offers, traits: ['MISC_SHARES_VIA_AGGREGATE'] } },
      /offers\.traits\.0: trait "MISC_SHARES_VIA_AGGREGATE" is not CUSTOM_/,
    ],
    ['a trait of compute', { offers: { ...offers, traits: ['COMPUTE_NODE'] } }, /COMPUTE_NODE/],
    [
      'a region of an unknown kind',
      { regions: [{ ...region, kind: 'slot' as 'partition' }] },
      /regions\.0\.kind/,
    ],
    ['a trait of a region', { regions: [{ ...region, traits: ['HW_CPU_X86_AVX'] }] }, /HW_CPU/],
    ['more than its handles', { offers: { ...offers, num_accelerators: 2 } }, /num_accelerators/],
    [
      'two equal handles',
      { offers: { ...offers, attach_handles: [aHandle(1), aHandle(1)] } },
      /duplicate attach handle/,
    ],
    ['a handle that two regions have', { offers, regions: [region] }, /duplicate attach handle/],
    [
      'a handle with an unknown key',
      { offers: { ...offers, attach_handles: [{ type: 'PCI', info: { path: '/etc' } }] } },
      /offers\.attach_handles\.0\.info/,
    ],
    ['the name of another provider', { provider_suffix: goodAddress }, /provider_suffix/],
  ])('%s', async (_what, given, reason) => {
    expect(await deliver([good, bad(given)])).toBe(true);
    expect(await stored()).toEqual([goodAddress]);
    const { host: row } = await world.deps.store.inventory.host(host);
    expect(row.refused).toEqual({
      [badAddress]: { digest: computeDigest(bad(given)), reason: expect.stringMatching(reason) },
    });
    expect(lines.map(({ message }) => message)).toContain('Devices refused');
  });

  it('for the name of another provider', async () => {
    const first = { ...good, provider_suffix: 'same' };
    expect(await deliver([first, bad({ provider_suffix: 'same' })])).toBe(true);
    expect(await stored()).toEqual([goodAddress]);
  });
});

describe('an mdev whose uuid its host reports', () => {
  const place = { domain: '0000', bus: '0d', device: '00', function: '0' };
  const mdevs = (uuids: readonly string[]) =>
    bad({
      offers: {
        ...offers,
        attach_handles: uuids.map((uuid, index) => ({
          type: 'MDEV' as const,
          info: { ...place, asked_type: 'a', vgpu_mark: `a_${index}` },
          uuid,
        })),
      },
    });
  const ofHost = (name: string, index = 0, type = 'a') =>
    mdevUuid({ thing: thingName(stage, name), parent: badAddress, type }, index);
  const refusedNow = async () =>
    (await world.deps.store.inventory.host(host)).host.refused[badAddress]?.reason;

  it('is stored under it, in any case of its letters', async () => {
    const uuids = [ofHost(host), ofHost(host, 1)];
    await deliver([good, mdevs(uuids.map((uuid) => uuid.toUpperCase()))]);
    expect((await stored()).sort()).toEqual([goodAddress, badAddress]);
    const { devices } = await world.deps.store.inventory.host(host);
    const device = devices.find(({ address }) => address === badAddress);
    const [provider] = await world.deps.store.inventory.providers(device?.providers ?? []);
    expect(provider?.handles.map(({ uuid }) => uuid).sort()).toEqual(uuids.sort());
  });

  it.each(['earlier', 'at the same moment', 'later'])(
    'is refused with the uuid of another host that reports it %s',
    async (order) => {
      const victim = host;
      const uuid = ofHost(victim);
      const reportAs = (name: string) => {
        host = name;
        return deliver([good, mdevs([uuid])]);
      };
      if (order === 'earlier') await reportAs(victim);
      const hostile = reportAs(`${victim}-hostile`);
      if (order === 'later') await hostile;
      await Promise.all([hostile, order !== 'earlier' && reportAs(victim)]);
      host = `${victim}-hostile`;
      expect(await stored()).toEqual([goodAddress]);
      const reason = `the uuid ${uuid} is not one of this host's mdevs of type a on ${badAddress}: it must begin with ${ofHost(host).slice(0, -12)}`;
      expect(await refusedNow()).toBe(reason);
      const { json } = await world.ask('GET', `/operator/v1/incidents?host=${host}`);
      expect(json.incidents).toMatchObject([
        { kind: 'not-offered', reason: expect.stringContaining(reason) },
      ]);
      host = victim;
      expect((await stored()).sort()).toEqual([goodAddress, badAddress]);
      expect(await refusedNow()).toBeUndefined();
    },
  );

  it('is refused with the uuid of another type, or of one that its driver has made up', async () => {
    for (const uuid of [ofHost(host, 0, 'b'), '91ac1606-427e-44bb-8233-f4ff4bf3d241']) {
      await deliver([good, mdevs([uuid])]);
      expect([await stored(), await refusedNow()]).toEqual([
        [goodAddress],
        expect.stringContaining(uuid),
      ]);
    }
  });

  it('is refused where another one of the device has its uuid', async () => {
    const uuid = ofHost(host);
    expect(await deliver([good, mdevs([uuid, uuid.toUpperCase()])])).toBe(true);
    expect([await stored(), await refusedNow()]).toEqual([
      [goodAddress],
      `duplicate uuid of an attach handle: ${uuid}`,
    ]);
  });

  it('is refused where a device that the report describes before has its uuid', async () => {
    const uuid = ofHost(host);
    const twin = { ...mdevs([uuid]), address: goodAddress };
    expect(await deliver([twin, mdevs([uuid])])).toBe(true);
    expect([await stored(), await refusedNow()]).toEqual([
      [goodAddress],
      `another device has an attach handle with the uuid ${uuid}`,
    ]);
  });

  it('is refused while a device of an earlier report has its uuid', async () => {
    const uuid = ofHost(host);
    const twin = { ...mdevs([uuid]), address: goodAddress };
    const other = aDevice({ address: '0000:0e:00.0', provider_suffix: undefined });
    const mdev = mdevs([uuid]);
    const manifest = manifestOf([twin, mdev, other]);
    await deliver([twin], { manifest });
    expect(await deliver([mdev, other], { manifest })).toBe(true);
    expect([(await stored()).sort(), await refusedNow()]).toEqual([
      [goodAddress, other.address],
      `the device at ${goodAddress} has an attach handle with the uuid ${uuid}`,
    ]);
    expect(lines.map(({ message }) => message)).toContain('Devices refused');
    lines = [];
    await deliver([], { manifest });
    expect([lines, jobs]).toEqual([[], []]);
    await deliver([], { manifest: manifestOf([mdev, other]) });
    expect(jobs).toHaveLength(1);
    await deliver([mdev, other]);
    expect((await stored()).sort()).toEqual([badAddress, other.address]);
  });

  it('alone has one: a PCI function with a uuid is refused', async () => {
    const handle = { ...aHandle(1), uuid: ofHost(host) };
    await deliver([good, bad({ offers: { ...offers, attach_handles: [handle] } })]);
    expect([await stored(), await refusedNow()]).toEqual([
      [goodAddress],
      'offers.attach_handles.0.uuid: only a handle of type MDEV may have one',
    ]);
  });
});

describe('a device of another report', () => {
  const same = bad({ provider_suffix: 'same' });
  const first = { ...good, provider_suffix: 'same' };

  it('is refused for the name of a provider of the first', async () => {
    const manifest = manifestOf([first, same]);
    await deliver([first], { manifest });
    expect(await deliver([same], { manifest })).toBe(true);
    expect(await stored()).toEqual([goodAddress]);
    const { host: row } = await world.deps.store.inventory.host(host);
    expect(row.refused[badAddress]?.reason).toBe(
      `the device at ${goodAddress} has a provider named ${host}_same`,
    );
    const { devices } = await world.deps.store.inventory.host(host);
    const [provider] = await world.deps.store.inventory.providers(devices[0]?.providers ?? []);
    expect(provider?.deployable.deviceUuid).toBe(devices[0]?.uuid);
  });

  it('has the provider of a card that has left its slot', async () => {
    await deliver([first]);
    await deliver([same]);
    expect(await stored()).toEqual([badAddress]);
  });
});

describe('a refused device', () => {
  const wrong = bad({ offers: { ...offers, traits: ['COMPUTE_NODE'] } });

  it('is neither refused again nor asked for by heartbeats', async () => {
    const manifest = manifestOf([good, wrong]);
    await deliver([good, wrong]);
    lines = [];
    for (let times = 0; times < 3; times++) await deliver([], { manifest });
    expect([lines, jobs]).toEqual([[], []]);
    expect(await stored()).toEqual([goodAddress]);
  });

  it('keeps its earlier rows', async () => {
    await deliver([good, bad({})]);
    await deliver([good, wrong]);
    expect((await stored()).sort()).toEqual([goodAddress, badAddress]);
  });

  it('is stored when its host describes it differently', async () => {
    await deliver([good, wrong]);
    await deliver([good, bad({})]);
    expect((await stored()).sort()).toEqual([goodAddress, badAddress]);
    expect((await world.deps.store.inventory.host(host)).host.refused).toEqual({});
  });

  it('is forgotten when its host no longer has it', async () => {
    await deliver([good, wrong]);
    await deliver([], { manifest: manifestOf([good]) });
    expect((await world.deps.store.inventory.host(host)).host.refused).toEqual({});
  });
});

it('may have a vendor whose name is a property of Object', async () => {
  await deliver([bad({ vendor: '__proto__' })]);
  const { devices } = await world.deps.store.inventory.host(host);
  const provider = await world.deps.store.inventory.provider(
    devices[0]?.providers[0] ?? ('' as never),
  );
  expect(provider?.deployable.traits).toContain('CUSTOM_FPGA___PROTO___ABCD');
});

describe('a host with more devices than allowed', () => {
  const many = Array.from({ length: 257 }, (_, index) => {
    const address = `0000:${(index >> 5).toString(16).padStart(2, '0')}:${(index & 31).toString(16).padStart(2, '0')}.0`;
    return aDevice({ address, provider_suffix: undefined });
  });

  it('gets nothing stored, an incident says why, and fewer devices end it', async () => {
    const { inventory } = world.deps.store;
    expect(await deliver(many)).toBe(true);
    expect((await inventory.host(host)).devices).toEqual([]);
    const reason = 'reports 257 devices, and 256 are allowed: nothing of it is stored';
    const { json } = await world.ask('GET', `/operator/v1/incidents?host=${host}`);
    expect(json.incidents).toMatchObject([
      { kind: 'not-offered', reason: expect.stringContaining(reason) },
    ]);
    expect(await deliver([many[0] as ReportedDevice], { not_offered: [] })).toBe(true);
    expect((await inventory.host(host)).devices).toHaveLength(1);
    expect((await inventory.host(host)).notOffered).toEqual([]);
  });

  it('keeps the devices that it had', async () => {
    const { inventory } = world.deps.store;
    await deliver([good]);
    await deliver(many);
    const { devices } = await inventory.host(host);
    expect(devices.map(({ address, isGone }) => [address, isGone])).toEqual([[goodAddress, false]]);
  });
});

it('a device with more attach handles than its host may have is not stored, and named', async () => {
  const handles = Array.from({ length: 4096 }, (_, index) => aHandle(index));
  const large = { ...offers, attach_handles: handles };
  await deliver([good, bad({ offers: large })]);
  const { devices } = await world.deps.store.inventory.host(host);
  expect(devices.map(({ address }) => address)).toEqual([goodAddress]);
  const { json } = await world.ask('GET', `/operator/v1/incidents?host=${host}`);
  expect(JSON.stringify(json.incidents)).toContain(
    'has 4096 attach handles, and its host may have',
  );
});
