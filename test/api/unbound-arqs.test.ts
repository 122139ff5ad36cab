// A project may have a limited number of ARQs that are bound to no instance.

import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, expect, it } from 'vitest';
import { type ArqUuid, providerUuid } from '#core/domain/ids.ts';
import { applyReport } from '#core/operations/inventory/apply-report.ts';
import { arqRow } from '#core/store/rows/arq-rows.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { tableName } from '#core/store/table/tables.ts';
import { idOf } from '#local/openstack/keystone/catalog.ts';
import { anArq } from '#test/support/builders.ts';
import { aDevice, aReport } from '#test/support/reports.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { stage, startWorld } from '#test/support/world.ts';

const path = '/v2/accelerator_requests';
const instance = 'aaaaaaaa-0000-4000-8000-000000000001';
const world = perFile(() => startWorld({ settings: { CYBORG_UNBOUND_ARQS_MAX: '4' } }));

beforeAll(async () => {
  await applyReport(world.deps, 'cmp1', aReport([aDevice({ handles: 2 })]), Date.now());
  await world.createProfile('two', { 'resources:FPGA': '2' });
});

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
  const arqs = first.json.arqs.map(({ uuid }) => uuid);
  const target = { provider: providerUuid('cmp1_FakeDevice'), instance };
  expect((await world.bindArqs(arqs, target)).status).toBe(202);
  await eventually(async () => (await create()).status).toBe(201);
});

it('counts ARQs that an earlier release has stored', async () => {
  const { documents } = createDocuments();
  const projectId = idOf('project', 'alt');
  const dueAt = new Date(Date.now() + 3_600_000).toISOString();
  for (let count = 0; count < 3; count++) {
    const arq = anArq({ uuid: crypto.randomUUID() as ArqUuid, projectId });
    const Item = { ...arqRow(arq, dueAt), unbound_project: projectId };
    await documents.send(new PutCommand({ TableName: tableName(stage, 'arqs'), Item }));
  }
  expect((await create('alt-token')).json.error).toContain('has 3 accelerator requests');
});
