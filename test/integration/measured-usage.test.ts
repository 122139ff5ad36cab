// The usage of accelerators that are in use, in a large cloud: what the sweep has read of claims,
// and the history since, give what a reading of each claim gives.

import { expect, it } from 'vitest';
import { joinRanges } from '#core/domain/capacity/measured-hosts.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { measureFleet } from '#core/operations/fleet/measure-fleet.ts';
import { allHosts } from '#core/operations/placement/restore-tree.ts';
import { lastingAssignments } from '#functions/operator/use/assignments.ts';
import { aDevice, applySettled, aReport } from '#test/support/reports.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const world = perFile(() =>
  startWorld({ consumers: true, settings: { CYBORG_ATTACH_TYPES: 'TEST_PCI' } }),
);
const nameOf = (index: number) => `cmp${String(index).padStart(2, '0')}`;
const instanceOf = (index: number) => `bbbbbbbb-0000-4000-8000-0000000000${10 + index}`;

async function bind(index: number): Promise<void> {
  const provider = providerUuid(`${nameOf(index)}_FakeDevice`);
  await world.createBound('one', { host: nameOf(index), provider, instance: instanceOf(index) });
}

/** After all that this test does, so that it is always the same. */
const nowMs = Date.now() + 3_600_000;

/** What each claim of the project says, and what is measured of all projects. */
async function lasting() {
  const { deps } = world;
  const [arq] = await deps.listings.arqs({ limit: 1, sortKey: 'uuid', sortDir: 'asc' }, {});
  const read = await lastingAssignments(deps, arq?.projectId ?? '', nowMs);
  const measured = await lastingAssignments(deps, undefined, nowMs);
  return { read: new Map(read), measured: new Map(measured) };
}

it('of claims and releases before and after the measurement is that of each claim', async () => {
  await world.createProfile('one', { 'resources:FPGA': '1' });
  for (let index = 0; index < 21; index += 1) {
    await applySettled(world.deps, nameOf(index), aReport([aDevice({ handles: 2 })]), Date.now());
  }
  for (const index of [1, 2, 3]) await bind(index);
  await world.deleteArqsOf(instanceOf(1));
  for (let run = 0; run < 2; run += 1) await measureFleet(world.deps, await allHosts(world.deps));
  const kept = joinRanges(await world.deps.store.measuredClaims.ranges(), Date.now());
  expect(kept?.hosts.flatMap(({ hostname, claims }) => claims.map(() => hostname))).toEqual([
    nameOf(2),
    nameOf(3),
  ]);
  for (const index of [4, 5]) await bind(index);
  for (const index of [2, 4]) await world.deleteArqsOf(instanceOf(index));
  const { read } = await lasting();
  expect(read.size).toBe(2);
  await eventually(async () => (await lasting()).measured).toEqual(read);
});

it('is read from the kept claims', async () => {
  const { measuredClaims } = world.deps.store;
  const since = new Date(0).toISOString();
  const claims = [{ handleUuid: 'kept', since, projectId: 'other', resourceClass: 'FPGA' }];
  const hosts = Array.from({ length: 21 }, (_, index) => ({ hostname: nameOf(index), claims: [] }));
  await measuredClaims.put({
    after: '',
    upTo: '~',
    at: new Date().toISOString(),
    hosts: [...hosts, { hostname: nameOf(21), claims }],
  });
  const { measured } = await lasting();
  expect(measured.get(`kept ${since}`)).toMatchObject({ projectId: 'other', fromMs: 0 });
});
