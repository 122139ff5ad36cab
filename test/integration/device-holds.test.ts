// Holds: all devices that match take no new binds, also those that come later.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { deviceUuid } from '#core/domain/report/device-plan.ts';
import { holdDevices, sweepHolds } from '#core/operations/devices/hold-devices.ts';
import { syncProviders } from '#core/operations/placement/sync-providers.ts';
import { nextInstance } from '#test/support/builders.ts';
import { withStore } from '#test/support/deps.ts';
import { aDevice, aHandle } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const host = 'cmp1';
const model = 'abcd:abcd';
const operator = { requestId: 'req', userId: 'op', projectId: 'p', roles: ['admin'] };
const caller = { ...operator, hasServiceToken: false };
const world = perFile(() => startWorld());

const region = {
  name: 'region0',
  kind: 'reconfigurable-region' as const,
  resource_class: 'FPGA',
};

function card(slot: number, firmware: string, given: Partial<ReportedDevice> = {}): ReportedDevice {
  const handles = [aHandle(8 * slot)];
  return aDevice({
    address: `0000:0${slot}:00.0`,
    provider_suffix: undefined,
    firmware,
    offers: { resource_class: 'FPGA', traits: [], attach_handles: handles },
    ...given,
  });
}

const uuidOf = (slot: number) => deviceUuid(host, `0000:0${slot}:00.0`);
const providerOf = (slot: number) => providerUuid(`${host}_0000:0${slot}:00.0`);

beforeAll(async () => {
  await world.startComputeNode(host);
  await world.createProfile('fpga', { 'resources:FPGA': '1' });
});

beforeEach(async () => {
  const { holds } = (await world.ask('GET', '/operator/v1/holds')).json;
  for (const { id } of holds) await end(id);
  await world.report(host, [card(1, '1.1'), card(2, '1.3')]);
});

async function hold(body: object): Promise<string> {
  const { status, json } = await world.ask('POST', '/operator/v1/holds', {
    body: { reason: 'it resets itself', ...body },
  });
  expect(status).toBe(200);
  return json.id;
}

async function end(id: string): Promise<void> {
  expect((await world.ask('DELETE', `/operator/v1/holds/${id}`)).status).toBe(204);
}

async function stored(slot: number) {
  const { devices } = await world.deps.store.inventory.host(host);
  const device = devices.find(({ uuid }) => uuid === uuidOf(slot));
  const provider = await world.deps.store.inventory.provider(providerOf(slot));
  const reasons = (device?.holds ?? []).map(({ reason }) => reason);
  expect(provider?.deployable.isOnHold ?? false).toBe(reasons.length > 0);
  return { status: device?.status, reasons };
}

async function reserved(slot: number): Promise<number | undefined> {
  await syncProviders(world.deps, providerOf(slot), 1);
  const held = await world.deps.clients.placement.getInventories(providerOf(slot));
  return held?.inventories.FPGA?.reserved;
}

async function bind(slot: number) {
  const arqs = await world.createArqs('fpga');
  return world.bindArqs(arqs, { provider: providerOf(slot), instance: nextInstance() });
}

function later(ms: number): ConsumerDeps {
  return { ...world.deps, clock: () => Date.now() + ms };
}

/** The process dies when it marks the first device. */
function dying(): ConsumerDeps {
  const markDevice = () => Promise.reject(new Error('killed'));
  return withStore(world.deps, { holds: { markDevice } });
}

describe('a hold', () => {
  it('keeps matching devices from new binds and from Placement, and servers keep theirs', async () => {
    const bound = await bind(1);
    expect(bound.status).toBe(202);
    const id = await hold({ model, firmware: '<1.2' });
    expect(await stored(1)).toEqual({ status: 'enabled', reasons: ['it resets itself'] });
    expect((await stored(2)).reasons).toEqual([]);
    expect([await reserved(1), await reserved(2)]).toEqual([1, 0]);
    const answer = await bind(1);
    expect(answer.status).toBe(409);
    expect(answer.text).toContain('is on hold');
    expect(answer.text).not.toContain('resets itself');
    await end(id);
    expect((await stored(1)).reasons).toEqual([]);
    expect(await reserved(1)).toBe(0);
  });

  it('holds a device that comes later before any bind could have it', async () => {
    await hold({ model, firmware: '<1.2' });
    // The report dies when it has stored the device.
    const deps = withStore(world.deps, {
      inventory: { placesOf: () => Promise.reject(new Error('killed')) },
    });
    const devices = [card(1, '1.1'), card(2, '1.3'), card(3, '1.0'), card(4, '1.2')];
    await world.report(host, devices, {}, deps).catch(() => {});
    expect((await stored(3)).reasons).toEqual(['it resets itself']);
    expect((await stored(4)).reasons).toEqual([]);
  });

  it('lets a device go that gets other firmware, and takes one that gets the old one', async () => {
    await hold({ model, firmware: '<1.2' });
    await world.report(host, [card(1, '1.2.0'), card(2, '1.0')]);
    expect((await stored(1)).reasons).toEqual([]);
    expect((await stored(2)).reasons).toEqual(['it resets itself']);
  });

  it('ends without the hold of another operator that still matches, and without a disable', async () => {
    const one = await hold({ model, firmware: '<1.2' });
    const other = await hold({ vendor: '0xABCD', reason: 'all of this vendor' });
    expect((await stored(1)).reasons.toSorted()).toEqual([
      'all of this vendor',
      'it resets itself',
    ]);
    const patch = [{ op: 'replace', path: '/status', value: 'disabled', reason: 'a fan' }];
    await world.ask('PATCH', `/v2/devices/${uuidOf(1)}`, { body: patch });
    await end(one);
    expect(await stored(1)).toEqual({ status: 'maintaining', reasons: ['all of this vendor'] });
    await end(other);
    expect(await stored(1)).toEqual({ status: 'maintaining', reasons: [] });
    expect(await reserved(1)).toBe(1);
    await world.ask('POST', `/v2/devices/${uuidOf(1)}/enable`);
  });

  it('outlasts the end of a disable and of a drain', async () => {
    await hold({ hostname: host });
    await world.ask('POST', `/operator/v1/hosts/${host}/drain`, { body: { reason: 'a fan' } });
    await world.ask('POST', `/operator/v1/hosts/${host}/resume`);
    expect(await stored(1)).toEqual({ status: 'enabled', reasons: ['it resets itself'] });
    expect((await bind(1)).text).toContain('is on hold');
  });

  it('is replaced by the same selector, with the new reason at each device', async () => {
    const id = await hold({ model });
    expect(await hold({ model: 'ABCD:abcd', reason: 'it is loud' })).toBe(id);
    expect((await stored(1)).reasons).toEqual(['it is loud']);
  });

  it('ends by itself when its time is over', async () => {
    const until = new Date(Date.now() + 60_000).toISOString();
    await hold({ model, until });
    await sweepHolds(world.deps);
    expect((await stored(1)).reasons).toEqual(['it resets itself']);
    await sweepHolds(later(61_000));
    expect((await stored(1)).reasons).toEqual([]);
    expect((await world.ask('GET', '/operator/v1/holds')).json.holds).toEqual([]);
  });

  it('reaches a region that its device gets later', async () => {
    await hold({ model });
    const regions = [{ ...region, traits: [], attach_handles: [aHandle(9)] }];
    await world.report(host, [card(1, '1.1', { regions }), card(2, '1.3')]);
    const provider = providerUuid(`${host}_0000:01:00.0_region0`);
    expect((await world.deps.store.inventory.provider(provider))?.deployable.isOnHold).toBe(true);
  });
});

describe('the sweep', () => {
  it('marks the devices of a request that died', async () => {
    const request = holdDevices(dying(), caller, { model }, { reason: 'killed' });
    await expect(request).rejects.toThrow('killed');
    expect((await stored(1)).reasons).toEqual([]);
    await expect(sweepHolds(dying())).rejects.toThrow('killed');
    await sweepHolds(world.deps);
    expect([(await stored(1)).reasons, (await stored(2)).reasons]).toEqual([
      ['killed'],
      ['killed'],
    ]);
  });

  it('goes on where its last run has stopped, and looks at all devices again after an hour', async () => {
    await hold({ model });
    const read: string[] = [];
    const counting = (deps: ConsumerDeps): ConsumerDeps => ({
      ...deps,
      listings: {
        ...deps.listings,
        devicesAfter: async (after) => {
          read.push(after);
          return deps.listings.devicesAfter(after, 1);
        },
      },
    });
    // A page that is not full is the last one.
    await sweepHolds(counting(world.deps));
    await sweepHolds(counting(later(1000)));
    expect(read).toEqual(['0']);
    await world.deps.store.holds.markDevice(
      { hostname: host, uuid: uuidOf(1) },
      [providerOf(1)],
      [],
    );
    await sweepHolds(counting(later(3_601_000)));
    expect(read).toEqual(['0', '0']);
    const { revision } = await world.deps.store.holds.holds();
    await world.deps.store.holds.putRound({ revision, at: new Date().toISOString(), after: '8' });
    await sweepHolds(counting(world.deps));
    expect(read).toEqual(['0', '0', '8']);
  });
});

describe('a mark that was decided before', () => {
  it('the end of the hold is not lasting', async () => {
    const { store } = world.deps;
    let isEnded = false;
    const deps = withStore(world.deps, {
      holds: {
        markDevice: async (...given) => {
          if (!isEnded) {
            isEnded = true;
            for (const { id } of (await store.holds.holds()).holds) await end(id);
          }
          return store.holds.markDevice(...given);
        },
      },
    });
    await holdDevices(deps, caller, { model }, { reason: 'short' });
    expect((await stored(1)).reasons).toEqual([]);
    expect((await stored(2)).reasons).toEqual([]);
  });

  it('a report of other firmware is not lasting', async () => {
    const { store } = world.deps;
    let isReported = false;
    const deps = withStore(world.deps, {
      holds: {
        markDevice: async (...given) => {
          if (!isReported) {
            isReported = true;
            await world.report(host, [card(1, '2.0'), card(2, '2.0')]);
          }
          return store.holds.markDevice(...given);
        },
      },
    });
    await holdDevices(deps, caller, { model, firmware: '<2' }, { reason: 'old' });
    expect([(await stored(1)).reasons, (await stored(2)).reasons]).toEqual([[], []]);
  });
});

describe('what operators see', () => {
  it('the hold and its devices, and the hold at each of them', async () => {
    const reason = '</script>\u202e"\u0000; DROP \u{1F480}';
    const until = '2999-01-01T00:00:00+00:00';
    const id = await hold({ model, firmware: '>=1.0,<1.2', reason, until });
    const { json } = await world.ask('GET', '/operator/v1/holds');
    expect(json.holds).toMatchObject([
      { id, model, firmware: '>=1.0,<1.2', vendor: null, reason, until, devices: 1 },
    ]);
    const detail = await world.ask('GET', `/operator/v1/holds/${id}`);
    expect(detail.json.devices).toMatchObject([
      { device_uuid: uuidOf(1), hostname: host, firmware: '1.1', status: 'enabled' },
    ]);
    const shown = await world.ask('GET', `/operator/v1/hosts/${host}`);
    const own = shown.json.devices.find(({ uuid }) => uuid === uuidOf(1));
    expect(own).toMatchObject({ status: 'enabled', holds: [{ id, reason, until }] });
  });

  it.each([
    [{ model: '*' }, 'model'],
    [{ model: 'abcd:ab cd' }, 'model'],
    [{ vendor: '$where' }, 'vendor'],
    [{ type: 'gpu' }, 'type'],
    [{ hostname: 'a\nb' }, 'hostname'],
    [{ firmware: '<1,2' }, 'firmware'],
    [{ firmware: `<${'1'.repeat(65)}` }, 'firmware'],
    [{ model, reason: '' }, 'reason'],
    [{ model, reason: 'r'.repeat(256) }, 'reason'],
    [{ model, until: 'tomorrow' }, 'until'],
    [{ model, until: '9999-12-31T23:59:59-05:00' }, 'until'],
    [{ model, mode: 'drain' }, 'mode'],
  ])('refuses %j and names %s', async (body, name) => {
    const given = { reason: 'it resets itself', ...body };
    const answer = await world.ask('POST', '/operator/v1/holds', { body: given });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain(name);
  });
});
