// A project may have a limited number of ARQs that are bound to no instance.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { providerUuid } from '#core/domain/ids.ts';
import { applyReport } from '#core/operations/inventory/apply-report.ts';
import { eventually } from '#test/local/eventually.ts';
import { bindPatch } from '#test/support/bind-patch.ts';
import { aDevice, aReport } from '#test/support/reports.ts';
import { startWorld, type World } from '#test/support/world.ts';

const path = '/v2/accelerator_requests';
const instance = 'aaaaaaaa-0000-4000-8000-000000000001';
let world: World;

beforeAll(async () => {
  world = await startWorld({ settings: { CYBORG_UNBOUND_ARQS_MAX: '4' } });
  await applyReport(world.deps, 'cmp1', aReport([aDevice({ handles: 2 })]), Date.now());
  await world.ask('POST', '/v2/device_profiles', {
    body: [{ name: 'two', groups: [{ 'resources:FPGA': '2' }] }],
  });
});
afterAll(() => world.stop());

const create = (token = 'demo-token') =>
  world.ask('POST', path, { token, body: { device_profile_name: 'two' } });

it('refuses a create above the limit, names the limit, and does not count bound ARQs', async () => {
  const first = await create();
  expect([first.status, (await create()).status]).toEqual([201, 201]);
  await eventually(async () => (await create()).json.error).toBe(
    'The project has 4 accelerator requests that are bound to no instance and asks for 2 more; ' +
      'at most 4 are allowed. Delete some, or wait: each is deleted 15 minutes after its creation.',
  );
  expect((await world.ask('GET', path, { token: 'demo-token' })).json.arqs).toHaveLength(4);
  // Another project has a limit of its own.
  expect((await create('admin-token')).status).toBe(201);
  const patch = bindPatch({
    hostname: 'cmp1',
    device_rp_uuid: providerUuid('cmp1_FakeDevice'),
    instance_uuid: instance,
  });
  const arqs = first.json.arqs.map(({ uuid }) => [uuid, patch]);
  expect((await world.asNova('PATCH', path, Object.fromEntries(arqs))).status).toBe(202);
  await eventually(async () => (await create()).status).toBe(201);
});
