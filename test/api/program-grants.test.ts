// Who may program a device: a role of the policy, and for all but operators a grant of the device.

import { beforeAll, expect, it } from 'vitest';
import { idOf } from '#local/openstack/keystone/catalog.ts';
import { createProject, operatorsApi } from '#test/api/operators-api.ts';
import { aDevice, aHandle, applySettled, aReport } from '#test/support/reports.ts';
import { sentenceOf } from '#test/support/stored/refusals.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const programmers = ['admin', 'member'];
const policy = {
  'cyborg:deployable:program': programmers,
  'cyborg:device:program_firmware': programmers,
};
const world = perFile(() => startWorld({ settings: { CYBORG_POLICY: JSON.stringify(policy) } }));
const project = idOf('project', 'demo');
const another = idOf('project', 'alt');
const image = '99999999-0000-4000-8000-000000000009';
const hourMs = 3_600_000;
const inHours = (hours: number) => new Date(Date.now() + hours * hourMs).toISOString();

let operators: ReturnType<typeof operatorsApi>;
let device: string;
let region: string;

beforeAll(async () => {
  operators = operatorsApi(world);
  const region0 = {
    name: 'region0',
    kind: 'reconfigurable-region' as const,
    resource_class: 'FPGA',
    traits: [],
    attach_handles: [aHandle(1)],
  };
  const fpga = aDevice({ offers: undefined, regions: [region0] });
  await applySettled(world.deps, 'cmp1', aReport([fpga]), Date.now());
  const { json } = await world.ask('GET', '/v2/deployables');
  region = json.deployables.find(({ name }) => name.endsWith('region0'))?.uuid ?? '';
  device = (await world.ask('GET', '/v2/devices')).json.devices[0]?.uuid ?? '';
});

const act = (verb: string, body: object, id = device) =>
  operators('POST', `/devices/${id}/${verb}`, { body });

/** Statuses of a program of the region, and of firmware; neither image nor component exists. */
async function program(token: string): Promise<number[]> {
  const send = (path: string, patch: string) =>
    world.ask('PATCH', path, { token, body: [{ op: 'add', path: patch, value: image }] });
  const regions = await send(`/v2/deployables/${region}`, '/bitstream');
  const firmware = await send(`/v2/devices/${device}`, '/firmware');
  return [regions.status, firmware.status];
}

const forbidden = [403, 403];
const allowed = [404, 400];

it('is asked of each project, and of no operator', async () => {
  expect(await program('demo-token')).toEqual(forbidden);
  expect(await program('admin-token')).toEqual(allowed);
});

it('reaches the project, until an operator ends it', async () => {
  const until = inHours(4);
  const granted = await act('grant', { project_id: project, until });
  expect(granted.json).toMatchObject({
    device_uuid: device,
    grants: [{ project_id: project, until: `${until.slice(0, 19)}+00:00` }],
  });
  expect(await program('demo-token')).toEqual(allowed);
  expect(await program('alt-token')).toEqual(forbidden);
  const host = await operators('GET', '/hosts/cmp1');
  expect(host.text).toContain(`"project_id":"${project}"`);
  // A report of the device leaves its grants.
  await world.report('cmp1', [aDevice({ model: 'another' })]);
  expect(await program('demo-token')).toEqual(allowed);
  for (let count = 0; count < 2; count++) {
    const revoked = await act('revoke', { project_id: project });
    expect([revoked.status, revoked.json]).toEqual([200, { device_uuid: device, grants: [] }]);
  }
  expect(await program('demo-token')).toEqual(forbidden);
});

it('ends by itself, and leaves no row', async () => {
  const { grants, inventory } = world.deps.store;
  const over = { projectId: project, until: inHours(-1), by: 'user', at: inHours(-2) };
  await grants.putGrant({ hostname: 'cmp1', uuid: device }, over);
  expect(await program('demo-token')).toEqual(forbidden);
  await act('grant', { project_id: another, until: inHours(1) });
  const [stored] = (await inventory.host('cmp1')).devices;
  expect(stored?.grants?.map(({ projectId }) => projectId)).toEqual([another]);
});

it('is for sixteen projects at most', async () => {
  for (let count = 1; count < 16; count++) {
    const made = await createProject(world.urls.keystone, `project-${count}`);
    await act('grant', { project_id: made, until: inHours(1) });
  }
  const answer = await act('grant', { project_id: idOf('project', 'admin'), until: inHours(1) });
  expect([answer.status, sentenceOf(answer)]).toEqual([
    400,
    expect.stringContaining('already has 16 grants, the maximum'),
  ]);
  expect((await act('grant', { project_id: another, until: inHours(2) })).status).toBe(200);
});

it.each([
  [
    'in the past',
    { project_id: project, until: '2020-01-01T00:00:00Z' },
    undefined,
    400,
    'not in the future',
  ],
  ['without an end', { project_id: 'a' }, undefined, 400, 'until'],
  [
    'of a project that cannot be',
    { project_id: 'a b', until: inHours(1) },
    undefined,
    400,
    'Keystone',
  ],
  [
    'of a name',
    { project_id: 'demo', until: inHours(1) },
    undefined,
    400,
    'Project ID demo is not',
  ],
  ['of an unknown device', { project_id: project, until: inHours(1) }, image, 404, image],
])('is refused %s', async (_, body, id, status, sentence) => {
  const answer = await act('grant', body, id);
  expect([answer.status, sentenceOf(answer)]).toEqual([status, expect.stringContaining(sentence)]);
});
