// Why a server is in ERROR: a failed bind stays an incident after Nova has deleted its ARQs.

import { beforeAll, expect, it } from 'vitest';
import { workDueMs } from '#core/domain/host-work/deadlines.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { sweep } from '#core/operations/work-ends/sweep.ts';
import { readEnded } from '#functions/operator/incidents/ended.ts';
import { readIncidents } from '#functions/operator/incidents/incident-reads.ts';
import { aGpu, applySettled, aReport } from '#test/support/reports.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const world = perFile(() =>
  startWorld({ settings: { CYBORG_ATTACH_TYPES: 'MDEV' }, consumers: true }),
);
const instance = '77aa0000-0000-4000-8000-000000000001';
const minuteMs = 60_000;

beforeAll(async () => {
  for (const host of ['cmp1', 'cmp2']) {
    await world.startComputeNode(host);
    await applySettled(world.deps, host, aReport([aGpu([{ vgpu_mark: '1' }])]), Date.now());
  }
  await world.createProfile('vgpu', { 'resources:VGPU': '1' });
});

const bind = (host: string) =>
  world.createBound('vgpu', { host, provider: providerUuid(`${host}_Gpu`), instance });

const later = (ms: number) => ({ ...world.deps, clock: () => Date.now() + ms });
const failed = async () =>
  (await world.ask('GET', '/operator/v1/incidents?kind=failed-bind')).json.incidents;

it('stays listed for half an hour, with its server, profile, host, reason and next step', async () => {
  const [arq] = await bind('cmp1');
  await sweep(later(workDueMs('bind', world.deps.settings) + minuteMs));
  const expected = {
    kind: 'failed-bind',
    hostname: 'cmp1',
    instance_uuid: instance,
    arq_uuid: arq,
    device_profile_name: 'vgpu',
    reason: expect.stringContaining('240 s'),
  };
  expect(await failed()).toMatchObject([expected]);
  const { status } = await world.asNova('DELETE', `/v2/accelerator_requests?instance=${instance}`);
  expect(status).toBe(204);
  const next_step = expect.stringContaining('create the server again');
  await eventually(failed).toMatchObject([{ ...expected, next_step }]);
  const { json } = await world.ask('GET', '/operator/v1/history?kind=bind.failed');
  expect(json.history).toMatchObject([{ instance_uuid: instance, device_profile_name: 'vgpu' }]);
  expect(await readIncidents['failed-bind'](later(40 * minuteMs), undefined, 100)).toEqual([]);
});

it('is listed as ended after half an hour, by time alone', async () => {
  const query = { kind: undefined, host: undefined, state: 'ended', limit: 100 } as const;
  const ended = (ms: number) => readEnded(later(ms), { ...query, marker: undefined });
  expect((await ended(20 * minuteMs)).rows).toEqual([]);
  const { rows } = await ended(40 * minuteMs);
  expect(rows).toMatchObject([{ kind: 'failed-bind', hostname: 'cmp1', instanceUuid: instance }]);
  const [{ since = '', endedAt = '', endedBy } = {}] = rows;
  expect([Date.parse(endedAt) - Date.parse(since), endedBy]).toEqual([30 * minuteMs, undefined]);
});

it('is not listed while another host makes ready its devices', async () => {
  await bind('cmp2');
  expect(await failed()).toEqual([]);
});
