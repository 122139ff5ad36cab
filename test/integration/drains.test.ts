// Drains and resumes of one host that come at once.

import { beforeEach, expect, it } from 'vitest';
import type { Deps } from '#core/deps.ts';
import { drainHost, drainLater, resumeHost } from '#core/operations/hosts/drain-host.ts';
import { withStore } from '#test/support/deps.ts';
import { aDevice, applySettled, aReport } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const operator = { requestId: 'req', userId: 'op', projectId: 'p', roles: ['admin'] };
const caller = { ...operator, hasServiceToken: false };
const world = perFile(startWorld);
let hostname = '';
let rounds = 0;
let nowMs = Date.now();
const cardAt = (slot: number) =>
  aDevice({ address: `0000:0${slot}:00.0`, provider_suffix: undefined });
const two = [cardAt(1), cardAt(2)];

beforeEach(async () => {
  rounds += 1;
  hostname = `cmp${rounds}`;
  await applySettled(world.deps, hostname, aReport(two), Date.now());
});

/** Each request has a time of its own. */
function later(): Deps {
  nowMs += 1000;
  const now = nowMs;
  return { ...world.deps, clock: () => now };
}

/** Before the first change of a device, another request comes, and ends. */
function interrupted(deps: Deps, other: () => Promise<unknown>): Deps {
  let hasCome = false;
  const changeStatus: Deps['store']['inventory']['changeStatus'] = async (...change) => {
    if (!hasCome) {
      hasCome = true;
      await other();
    }
    return deps.store.inventory.changeStatus(...change);
  };
  return {
    ...deps,
    store: { ...deps.store, inventory: { ...deps.store.inventory, changeStatus } },
  };
}

async function stored() {
  const { host, devices } = await world.deps.store.inventory.host(hostname);
  const states = devices.map(({ status, statusChange }) => `${status} ${statusChange?.reason}`);
  return { drain: host.drain?.reason, states: [...new Set(states)] };
}

it('a drain that comes during a resume stands', async () => {
  await drainHost(later(), caller, hostname, { reason: 'a fan' });
  const resume = later();
  const drain = later();
  await resumeHost(
    interrupted(resume, () => drainHost(drain, caller, hostname, { reason: 'a leak' })),
    caller,
    hostname,
  );
  expect(await stored()).toEqual({ drain: 'a leak', states: ['maintaining a leak'] });
});

it('the later of two drains counts for all devices', async () => {
  const first = later();
  const second = later();
  const until = new Date(nowMs + 60_000).toISOString();
  await drainHost(
    interrupted(first, () => drainHost(second, caller, hostname, { reason: 'a leak', until })),
    caller,
    hostname,
    { reason: 'a fan' },
  );
  expect(await stored()).toEqual({ drain: 'a leak', states: ['maintaining a leak'] });
  await drainHost(first, caller, hostname, { reason: 'a fan' });
  expect(await stored()).toEqual({ drain: 'a leak', states: ['maintaining a leak'] });
});

it('a report that read the drain before its resume keeps no device from binds', async () => {
  await drainHost(later(), caller, hostname, { reason: 'a fan' });
  const { host } = await world.deps.store.inventory.host(hostname);
  await resumeHost(later(), caller, hostname);
  const report = aReport([...two, cardAt(3)], { sequence: 2 });
  await applySettled(world.deps, hostname, report, Date.now());
  await drainLater(later(), host);
  expect(await stored()).toEqual({ drain: undefined, states: ['enabled undefined'] });
});

it('a device that a report disables during a resume is enabled', async () => {
  await drainHost(later(), caller, hostname, { reason: 'a fan' });
  const { host } = await world.deps.store.inventory.host(hostname);
  const report = aReport([cardAt(3)], { sequence: 2 });
  // The device is stored; its report stalls before it follows the drain.
  const changeStatus = () => Promise.reject(new Error('stalled'));
  const deps = withStore(world.deps, { inventory: { changeStatus } });
  await expect(applySettled(deps, hostname, report, Date.now())).rejects.toThrow('stalled');
  const stalled = later();
  await drainLater(
    interrupted(stalled, () => resumeHost(later(), caller, hostname)),
    host,
  );
  expect((await stored()).states).toEqual(['enabled undefined']);
});

it('a device that was gone at the resume is enabled when it returns', async () => {
  await drainHost(later(), caller, hostname, { reason: 'a fan' });
  await applySettled(world.deps, hostname, aReport(two.slice(1), { sequence: 2 }), Date.now());
  await resumeHost(later(), caller, hostname);
  await applySettled(world.deps, hostname, aReport(two, { sequence: 3 }), Date.now());
  expect(await stored()).toEqual({ drain: undefined, states: ['enabled undefined'] });
});
