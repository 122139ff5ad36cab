import { describe, expect, it } from 'vitest';
import { type ReportedDevice, reportedDevice } from '#core/contracts/report/inventory-report.ts';
import type { Device } from '#core/domain/device/device.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import { planDevice } from '#core/domain/report/device-plan.ts';
import { forgetsCards } from '#core/domain/report/other-cards.ts';
import { planReport, withinBounds } from '#core/domain/report/report-plan.ts';
import { pciFunction } from '#core/shapes/attach-handle.ts';
import { aDevice, aHandle, aReport, bootId, discovered } from '#test/support/reports.ts';

function aHost(given: Partial<StoredHost> = {}): StoredHost {
  return {
    hostname: 'cmp1',
    bootId,
    epoch: 1,
    sequence: 0,
    earlierBoots: [],
    lastReceivedAtMs: 1000,
    wanted: {},
    refused: {},
    isReprovisioning: false,
    ...given,
  };
}

function stored(device: ReportedDevice): Device {
  return planDevice('cmp1', undefined, discovered(device), '2026-07-01T00:00:00.000Z').device;
}

function reportOf(devices: readonly ReportedDevice[], given: Parameters<typeof aReport>[1] = {}) {
  const report = aReport(devices, given);
  return {
    manifest: {
      bootId: report.boot_id,
      sequence: report.sequence,
      receivedAtMs: 2000,
      manifest: report.manifest,
      failedDrivers: report.failed_drivers,
      refused: {},
    },
    described: report.devices.map(discovered),
  };
}

function plan(host: StoredHost, devices: readonly Device[], report: ReturnType<typeof reportOf>) {
  return planReport(host, devices, report.manifest, report.described);
}

describe('planning a report', () => {
  const first = aDevice();
  const second = aDevice({ address: '0000:3b:00.0' });

  it('keeps the devices of a failed driver', () => {
    const report = reportOf([second], { failed_drivers: ['fake_driver'] });
    expect(plan(aHost(), [stored(first)], report).retire).toEqual([]);
  });

  it('moves a device of a failed driver to the next driver that claims it', () => {
    const others = aDevice({ driver: 'pci', provider_suffix: undefined });
    const report = reportOf([others], { failed_drivers: ['fake_driver'] });
    expect(plan(aHost(), [stored(first)], report)).toMatchObject({
      put: [],
      retire: [],
      wanted: {},
    });
    const heartbeat = reportOf([others], { failed_drivers: ['fake_driver'], devices: [] });
    const { wanted } = plan(aHost(), [stored(first)], heartbeat);
    const late = reportOf([others], { failed_drivers: ['fake_driver'], sequence: 0 });
    expect(plan(aHost({ wanted }), [stored(first)], late).put).toEqual([]);
  });

  it("lists the manifest's undescribed devices as wanted", () => {
    const report = reportOf([first], { devices: [] });
    const [[address, digest] = []] = Object.entries(report.manifest.manifest);
    expect(plan(aHost(), [], report).wanted).toEqual({ [address as string]: digest });
  });

  it('ignores an older report of the same boot', () => {
    const report = reportOf([second], { sequence: 3 });
    expect(plan(aHost({ sequence: 5 }), [stored(first)], report)).toMatchObject({
      standing: 'late',
      put: [],
      retire: [],
    });
  });

  it('takes from an older part only what the newest manifest still wants', () => {
    const wanted = { [second.address]: discovered(second).digest };
    const report = reportOf([first, second], { sequence: 3 });
    const planned = plan(aHost({ sequence: 5, wanted }), [], report);
    expect(planned.put.map(({ address }) => address)).toEqual([second.address]);
    expect(planned.wanted).toEqual({});
  });

  it('orders reports of different boots by their arrival, whatever their numbers', () => {
    const other = '22222222-2222-4222-8222-222222222222';
    const report = reportOf([first], { boot_id: other, sequence: 1 });
    expect(plan(aHost({ sequence: 99, lastReceivedAtMs: 1999 }), [], report)).toMatchObject({
      isNewBoot: true,
      standing: 'newer',
    });
    expect(plan(aHost({ sequence: 99, lastReceivedAtMs: 2000 }), [], report).standing).toBe('late');
  });
});

describe('a host with more attach handles than allowed', () => {
  const big = (bus: number, handles = 4096) =>
    aDevice({ address: `0000:0${bus}:00.0`, provider_suffix: undefined, handles });

  const bounds = { devicesPerHostMax: 256, handlesPerHostMax: 8192 };

  it('keeps the stored devices, and those that fit beside them; the rest is refused', () => {
    const [first, second, third, small] = [big(1), big(2), big(3), big(4, 1)];
    const described = [second, third, small];
    const report = reportOf([first, ...described]);
    const whole = planReport(
      aHost(),
      [stored(first)],
      report.manifest,
      described.map((device) => discovered(device)),
    );
    expect(whole.put).toHaveLength(3);
    const plan = withinBounds(whole, [stored(first)], bounds);
    expect(plan.put.map(({ address }) => address)).toEqual([second.address]);
    expect(plan.wanted).toEqual({});
    expect(Object.keys(plan.refused)).toEqual([third.address, small.address]);
    expect(plan.refused[third.address]).toMatchObject({
      reason: 'has 4096 attach handles, and its host may have 8192',
    });
  });

  it('may replace one device by another', () => {
    const described = [big(1), big(2)].map((device) => ({ ...device, model: 'changed' }));
    const report = reportOf(described);
    const known = [stored(big(1)), stored(big(2))];
    const whole = planReport(aHost(), known, report.manifest, described.map(discovered));
    expect(withinBounds(whole, known, bounds)).toEqual(whole);
  });
});

describe('planning a report of other cards', () => {
  const since = '2026-07-01T00:00:00.000Z';
  const later = '2026-07-02T00:00:00.000Z';
  const card = { identity: '10de:26b9 030200 10de:1851', since };
  const gpu = aDevice({ vendor: '10de', product: '26b9', card });
  const other = { identity: '144d:a80a 010802 144d:aa0a', since: later };
  const ssd = aDevice({ vendor: '144d', product: 'a80a', card: other });
  const { address } = gpu;
  const row = stored(gpu);
  const refusedBefore = plan(aHost(), [row], reportOf([ssd])).refused;

  it('refuses one in a late part that is still wanted', () => {
    const report = reportOf([ssd]);
    const wanted = report.manifest.manifest;
    const planned = plan(aHost({ sequence: 10, wanted }), [row], report);
    expect(planned).toMatchObject({ standing: 'late', put: [], wanted: {}, retire: [{ address }] });
    expect(planned.refused).toMatchObject({ [address]: { card, digest: wanted[address] } });
  });

  it('asks again for one that has changed since it was refused, and takes it in a late part', () => {
    const confirmed = aDevice({ ...ssd, card: { ...other, confirmed_at: later } });
    const report = reportOf([confirmed]);
    const host = aHost({ refused: refusedBefore });
    const asked = plan(host, [], { ...report, described: [] });
    expect([asked.wanted, asked.refused]).toEqual([report.manifest.manifest, refusedBefore]);
    const { wanted, refused } = asked;
    const late = plan(aHost({ sequence: 10, wanted, refused }), [], report);
    expect(late).toMatchObject({ put: [{ address }], wanted: {}, refused: {} });
  });

  it('remembers the card of a place that is empty, until its card is back', () => {
    const { refused } = plan(aHost(), [row], reportOf([]));
    expect(refused).toMatchObject({ [address]: { digest: '', card } });
    const host = aHost({ refused });
    expect(plan(host, [], reportOf([ssd])).refused).toMatchObject({ [address]: { card } });
    expect(plan(host, [], reportOf([gpu])).refused).toEqual({});
  });

  it('remembers 64 such places, those that were offered last', () => {
    const entries = Array.from({ length: 300 }, (_, index) => {
      const at = new Date(Date.UTC(2026, 6, 1, 0, index)).toISOString();
      const device = { digest: 'd', reason: 'r', driver: 'pci', card: { ...card, since: at } };
      return [`0000:${index.toString(16).padStart(4, '0')}:00.0`, device] as const;
    });
    const host = aHost({ refused: Object.fromEntries(entries) });
    for (const failed_drivers of [[], ['pci']]) {
      const { refused } = plan(host, [], reportOf([], { failed_drivers }));
      expect(Object.keys(refused)).toHaveLength(64);
      expect(refused).toHaveProperty([entries[299]?.[0] ?? '']);
    }
  });

  it('does not forget what it was while a card cannot be read', () => {
    const { card: _, ...unreadGpu } = gpu;
    expect(
      planDevice('cmp1', { device: row, providers: [] }, discovered(unreadGpu), later),
    ).toMatchObject({ device: { card } });
    const { card: __, ...unreadSsd } = ssd;
    const planned = plan(aHost({ refused: refusedBefore }), [], reportOf([unreadSsd]));
    expect([planned.put, planned.refused]).toMatchObject([[], { [address]: { card } }]);
  });

  it('lets a confirmation in once', () => {
    const [first, second] = ['S1', 'S2'];
    const confirmedAt = '2026-07-03T00:00:00.000Z';
    const confirmed = (serial: string | undefined) =>
      aDevice({ ...ssd, card: { ...other, serial, confirmed_at: confirmedAt } });
    const taken = plan(aHost(), [row], reportOf([confirmed(first)]));
    expect(taken.put).toHaveLength(1);
    const next = stored(confirmed(first));
    expect(plan(aHost(), [next], reportOf([confirmed(second)]))).toMatchObject({
      put: [],
      refused: { [address]: { reason: expect.stringContaining('S2') } },
    });
  });
});

describe('planning a report of a pool with other cards', () => {
  const since = '2026-07-01T00:00:00.000Z';
  const cardOf = (subsystem: string) => ({ identity: `10de:26b9 030200 10de:${subsystem}`, since });
  const [before, other] = [cardOf('1851'), cardOf('1852')];
  const [first = '', second = '', third = ''] = [1, 2, 3].map((each) => `0000:0c:00.${each}`);
  type Units = NonNullable<ReportedDevice['unit_cards']>;

  function aPool(unit_cards: Units | undefined, sets: Record<number, string> = {}): ReportedDevice {
    const handles = [1, 2, 3].map((index) => {
      const set = sets[index];
      return { ...aHandle(index, 'PCI'), locality: set === undefined ? {} : { set } };
    });
    const offers = { resource_class: 'PGPU', traits: [], attach_handles: handles };
    return aDevice({ address: 'gpus', vendor: '10de', product: '26b9', offers, unit_cards });
  }

  const all: Units = { [first]: before, [second]: before, [third]: before };
  const row = stored(aPool(all));
  const offered = ({ put: [device] }: ReturnType<typeof plan>) => [
    (device?.offers?.attachHandles ?? []).flatMap((each) => pciFunction(each) ?? []),
    device?.offers?.numAccelerators,
  ];

  it.each<[string, ReportedDevice, string[]]>([
    ['one unit', aPool({ ...all, [second]: other }), [first, third]],
    ['a unit of a set', aPool({ ...all, [first]: other }, { 1: 's', 3: 's' }), [second]],
    ['a card of virtual functions', aPool({ ...all, '0000:0b:00.0': other }), []],
  ])('takes the pool without %s', (_what, pool, left) => {
    const known = stored(aPool({ ...all, '0000:0b:00.0': before }));
    const planned = plan(aHost(), [known], reportOf([pool]));
    expect(offered(planned)).toEqual([left, left.length]);
    const [[address, { reason } = {}] = [], ...more] = Object.entries(planned.refused).filter(
      ([, each]) => each.reason !== '',
    );
    expect([reason, more]).toEqual([expect.stringContaining('was offered here'), []]);
    const [put] = planned.put;
    expect(put?.unitCards?.[address ?? '']).toEqual(before);
  });

  it('takes it whole if its host names ids, or an agent of an earlier release describes it', () => {
    const named = aPool({ ...all, [second]: { ...other, is_named: true } });
    for (const pool of [named, aPool(undefined)]) {
      const planned = plan(aHost(), [row], reportOf([pool]));
      expect(offered(planned)).toEqual([[first, second, third], 3]);
    }
    const kept = planDevice(
      'cmp1',
      { device: row, providers: [] },
      discovered(aPool(undefined)),
      since,
    );
    expect(kept.device.unitCards).toEqual(all);
    // The row is of an earlier release.
    const planned = plan(aHost(), [stored(aPool(undefined))], reportOf([aPool(all)]));
    expect([offered(planned), planned.refused]).toEqual([[[first, second, third], 3], {}]);
  });

  it('takes no pool with a virtual function of the card', () => {
    const [one, two] = ['gpus', 'more'].map((address) => ({
      ...aPool({ '0000:0b:00.0': before }),
      address,
    })) as [ReportedDevice, ReportedDevice];
    const changed = [one, two].map((each) => ({ ...each, unit_cards: { '0000:0b:00.0': other } }));
    const { put } = plan(aHost(), [stored(one), stored(two)], reportOf(changed));
    expect(put.map(({ offers }) => offers?.attachHandles)).toEqual([[], []]);
  });

  it('keeps a unit refused while its pool does not name the card of the unit', () => {
    const { refused } = plan(aHost(), [row], reportOf([aPool({ ...all, [second]: other })]));
    const { [second]: _, ...rest } = all;
    for (const pool of [aPool(undefined), aPool(rest)]) {
      const report = reportOf([pool]);
      const planned = plan(aHost({ refused }), [row], report);
      expect(offered(planned)).toEqual([[first, third], 2]);
      const { gpus: digest } = report.manifest.manifest;
      expect(planned.refused).toMatchObject({ [second]: { ...refused[second], digest } });
      expect(planned.put[0]?.unitCards).toEqual(pool.unit_cards);
    }
  });

  describe('in a late part', () => {
    function planLate(pool: ReportedDevice, refused: StoredHost['refused'] = {}) {
      const report = reportOf([pool]);
      const wanted = report.manifest.manifest;
      const planned = plan(aHost({ sequence: 10, wanted, refused }), [row], report);
      expect([planned.standing, planned.wanted]).toEqual(['late', {}]);
      return { ...planned, digest: wanted[pool.address] };
    }

    it('takes it without the unit, and refuses the unit', () => {
      const planned = planLate(aPool({ ...all, [second]: other }));
      expect(offered(planned)).toEqual([[first, third], 2]);
      expect(planned.put[0]?.unitCards).toEqual(all);
      const { digest } = planned;
      const reason = expect.stringContaining('was offered here');
      expect(planned.refused).toMatchObject({ [second]: { digest, reason, card: before } });
    });

    it('remembers the card of a unit that has left', () => {
      const { [second]: _, ...rest } = all;
      const { refused } = planLate(aPool(rest));
      expect(refused).toMatchObject({ [second]: { digest: '', reason: '', card: before } });
    });

    it('forgets the refusal of a unit that is confirmed, and of nothing else', () => {
      const { refused } = plan(aHost(), [row], reportOf([aPool({ ...all, [second]: other })]));
      const confirmed = { ...other, confirmed_at: '2026-07-03T00:00:00.000Z' };
      const elsewhere = { '0000:0d:00.0': { digest: 'd', reason: 'has no driver' } };
      const planned = planLate(aPool({ ...all, [second]: confirmed }), {
        ...refused,
        ...elsewhere,
      });
      expect([offered(planned), planned.refused]).toEqual([[[first, second, third], 3], elsewhere]);
    });
  });

  it('refuses the unit while the host describes the pool alike, and remembers it then', () => {
    const report = reportOf([aPool({ ...all, [second]: other })]);
    const { refused } = plan(aHost(), [row], report);
    const { gpus: digest } = report.manifest.manifest;
    expect(refused).toMatchObject({ [second]: { digest, card: before } });
    const heartbeat = plan(aHost({ refused }), [], { ...report, described: [] });
    expect(heartbeat.refused).toEqual(refused);
    const without = plan(aHost({ refused }), [], reportOf([]));
    expect(without.refused).toEqual({ [second]: { ...refused[second], digest: '' } });
  });

  it('remembers the cards of units that have left, at most 64', () => {
    const { [second]: left, ...rest } = all;
    const planned = plan(aHost(), [row], reportOf([aPool(rest)]));
    expect(planned.refused).toMatchObject({ [second]: { digest: '', card: left } });
    expect([forgetsCards(planned, [row]), forgetsCards({ put: [], retire: [] }, [row])]).toEqual([
      true,
      false,
    ]);
    const pools = [0, 1].map((bus) => {
      const units = Array.from({ length: 64 }, (_, slot) => {
        const unit = `0000:${bus}0:${(slot >> 3).toString(16).padStart(2, '0')}.${slot & 7}`;
        return [unit, before] as const;
      });
      return { ...aPool(Object.fromEntries(units)), address: `pool${bus}` };
    });
    const rows = pools.map(stored);
    expect(Object.keys(plan(aHost(), rows, reportOf([])).refused)).toHaveLength(64);
    const changed = pools.map((pool) => ({
      ...pool,
      unit_cards: Object.fromEntries(Object.keys(pool.unit_cards ?? {}).map((at) => [at, other])),
    }));
    expect(Object.keys(plan(aHost(), rows, reportOf(changed)).refused)).toHaveLength(64);
  });

  it('reads no more than 64 cards of a pool', () => {
    const cards = Array.from({ length: 65 }, (_, slot) => {
      const at = `0000:00:${(slot >> 3).toString(16).padStart(2, '0')}.${slot & 7}`;
      return [at, before] as const;
    });
    const read = (count: number) =>
      reportedDevice.parse(aPool(Object.fromEntries(cards.slice(0, count)))).unit_cards;
    expect([Object.keys(read(64) ?? {}).length, read(65)]).toEqual([64, undefined]);
  });
});
