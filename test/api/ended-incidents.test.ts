// Incidents that have ended, with what ended them.

import { beforeAll, expect, it } from 'vitest';
import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { failBind } from '#core/operations/bind/finish-bind.ts';
import { quarantine } from '#core/operations/release/quarantine.ts';
import { aGpu, applySettled, aReport } from '#test/support/reports.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const world = perFile(() =>
  startWorld({ settings: { CYBORG_ATTACH_TYPES: 'MDEV' }, consumers: true }),
);
const instance = '77aa0000-0000-4000-8000-000000000002';
const hot = { state: 'unhealthy', reason: 'is hot', since: '2026-11-01T00:00:00.000Z' } as const;
const two = { vgpu_mark: '2' };

beforeAll(async () => {
  await world.startComputeNode('cmp1');
  await report(1);
  await world.createProfile('vgpu', { 'resources:VGPU': '1' });
});

const report = (sequence: number, health?: typeof hot, atMs = Date.now()) => {
  const device = { ...aGpu([{ vgpu_mark: '1' }, two]), ...(health && { health }) };
  return applySettled(world.deps, 'cmp1', aReport([device], { sequence }), atMs);
};

const ask = async (query: string) => {
  const { status, json } = await world.ask('GET', `/operator/v1/incidents?${query}`);
  return { status, error: json.error, incidents: json.incidents };
};
const ended = async (query = '') => (await ask(`state=ended${query}`)).incidents;

it('a device that is healthy again: since when it was not, and why', async () => {
  await report(2, hot);
  expect(await ended()).toEqual([]);
  await report(3);
  await report(4, undefined, Date.now() + 11 * 60_000);
  await eventually(() => ended()).toMatchObject([
    {
      kind: 'unhealthy-device',
      hostname: 'cmp1',
      reason: 'The device is hot.',
      since: '2026-11-01T00:00:00+00:00',
      ended_by: 'agent',
      action: null,
      ended_at: expect.any(String),
    },
  ]);
});

it('a quarantine that an operator ends: once for all handles, since it began', async () => {
  await world.createBound('vgpu', { provider: providerUuid('cmp1_Gpu'), instance });
  const binding = (await world.deps.store.arqs.binding(instance)) as InstanceBinding;
  await failBind(world.deps, binding, { cause: 'host', reason: 'The GPU is on fire.' });
  const { handles = [] } =
    (await world.deps.store.inventory.provider(providerUuid('cmp1_Gpu'))) ?? {};
  const id = handles.find(({ release }) => release)?.release;
  const work = id && (await world.deps.store.releases.awaited(id));
  if (!work) throw new Error('The failed bind has no release.');
  await quarantine(world.deps, work, 'It did not answer.');
  const [open] = (await ask('kind=quarantine')).incidents;
  // The host is asked again, and fails again.
  await quarantine({ ...world.deps, clock: () => Date.now() + 3_600_000 }, work, 'Nor now.');
  const body = { reason: 'wiped by hand', cleaned: true };
  const path = `/v2/devices/${open?.device_uuid}/force_release`;
  expect((await world.ask('POST', path, { body })).status).toBe(200);
  await eventually(() => ended('&kind=quarantine')).toMatchObject([
    {
      kind: 'quarantine',
      device_uuid: open?.device_uuid,
      reason: 'Attach handles: Nor now.',
      ended_by: expect.stringMatching(/^user:/),
    },
  ]);
  const [row] = await ended('&kind=quarantine');
  expect(Date.parse(row?.since ?? '')).toBeLessThan(Date.now() + 60_000);
});

it('filters by kind and host, and pages', async () => {
  expect(await ended('&host=cmp2')).toEqual([]);
  expect(await ended('&kind=host-away')).toEqual([]);
  const { json } = await world.ask('GET', '/operator/v1/incidents?state=ended&limit=1');
  const next = new URL(json.incidents_links?.[0]?.href ?? '', 'http://api').search.slice(1);
  const rest = (await ask(next)).incidents;
  expect([...json.incidents, ...rest]).toEqual(await ended('&limit=2'));
});

it.each([
  ['state=ended&kind=drift', 'the end of drift is not recorded'],
  ['state=ended&marker=quarantine:1', 'Marker quarantine:1'],
  ['state=closed', 'state: must be one of open, ended'],
])('%s: 400 that says %s', async (query, error) => {
  expect(await ask(query)).toMatchObject({ status: 400, error: expect.stringContaining(error) });
});
