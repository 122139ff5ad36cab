// Bad input gets the right status and a message that names the fault, and changes nothing.

import { beforeAll, describe, expect, it } from 'vitest';
import { providerUuid } from '#core/domain/ids.ts';
import { applyReport } from '#core/operations/inventory/apply-report.ts';
import { refused, sentenceOf } from '#test/support/refusals.ts';
import { aDevice, aReport } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { type Ask, startWorld } from '#test/support/world.ts';

const provider = providerUuid('cmp1_FakeDevice');
const gpu = providerUuid('cmp1_0000:3b:00.0');
const instance = 'aaaaaaaa-0000-4000-8000-000000000001';
const other = 'aaaaaaaa-0000-4000-8000-000000000002';
const missing = '99999999-0000-4000-8000-000000000009';
const nova: Ask = { token: 'demo-token', serviceToken: 'nova-token' };

const world = perFile(startWorld);

/** An unbound ARQ, one that is bound to `instance`, and one of another project. */
let unbound: string;
let bound: string;
let foreign: string;

function patch(given: Partial<Record<'hostname' | 'device_rp_uuid' | 'instance_uuid', unknown>>) {
  const values = { hostname: 'cmp1', device_rp_uuid: provider, instance_uuid: other, ...given };
  return Object.entries(values).map(([name, value]) => ({ op: 'add', path: `/${name}`, value }));
}

beforeAll(async () => {
  const card = aDevice({
    address: '0000:3b:00.0',
    type: 'GPU',
    provider_suffix: undefined,
    offers: { resource_class: 'PGPU', traits: [], attach_handles: [] },
  });
  await applyReport(world.deps, 'cmp1', aReport([aDevice({ handles: 1 }), card]), Date.now());
  await world.createProfile('fpga', { 'resources:FPGA': '1' });
  [unbound] = await world.createArqs('fpga');
  [bound] = await world.createBound('fpga', { provider, instance });
  [foreign] = await world.createArqs('fpga', 'alt-token');
});

const arqs = '/v2/accelerator_requests';

type Case = [
  name: string,
  method: string,
  path: string,
  ask: () => Ask,
  status: number,
  sentence: () => string,
];

const binding =
  (given: Parameters<typeof patch>[0], ask: Ask = nova) =>
  () => ({
    ...ask,
    body: { [unbound]: patch(given) },
  });

const cases: Case[] = [
  [
    'an unknown profile',
    'POST',
    arqs,
    () => ({ ...nova, body: { device_profile_name: 'nope' } }),
    404,
    () => 'Device profile nope',
  ],
  [
    'no profile named',
    'POST',
    arqs,
    () => ({ ...nova, body: {} }),
    400,
    () => 'device_profile_name',
  ],
  ['a list for a body', 'POST', arqs, () => ({ ...nova, body: [] }), 400, () => 'must be an obj'],
  [
    'an unknown ARQ',
    'PATCH',
    arqs,
    () => ({ ...nova, body: { [missing]: patch({}) } }),
    404,
    () => missing,
  ],
  [
    'a foreign ARQ, by a user',
    'GET',
    `${arqs}/FOREIGN`,
    () => ({ token: 'demo-token' }),
    404,
    () => foreign,
  ],
  [
    'a foreign ARQ deleted by a user',
    'DELETE',
    `${arqs}?arqs=FOREIGN`,
    () => ({ token: 'demo-token' }),
    404,
    () => foreign,
  ],
  [
    'another host',
    'PATCH',
    arqs,
    binding({ hostname: 'cmp2' }),
    400,
    () => 'is on host cmp1, not on cmp2',
  ],
  ['an unknown provider', 'PATCH', arqs, binding({ device_rp_uuid: missing }), 404, () => missing],
  [
    'a provider of another class',
    'PATCH',
    arqs,
    binding({ device_rp_uuid: gpu }),
    400,
    () => 'has PGPU',
  ],
  ['no free handle', 'PATCH', arqs, binding({}), 409, () => 'fewer than 1 free'],
  [
    'a second bind of an instance',
    'PATCH',
    arqs,
    binding({ instance_uuid: instance }),
    400,
    () => 'already has accelerator requests. Cannot append a new one to it',
  ],
  [
    'a bind of a bound ARQ',
    'PATCH',
    arqs,
    () => ({ ...nova, body: { [bound]: patch({}) } }),
    409,
    () => `${bound} is Bound`,
  ],
  [
    'an invalid host name',
    'PATCH',
    arqs,
    binding({ hostname: '../x' }),
    400,
    () => '/hostname is not a host name',
  ],
  [
    'an invalid uuid of an instance',
    'PATCH',
    arqs,
    binding({ instance_uuid: 'x' }),
    400,
    () => '/instance_uuid is not a uuid',
  ],
  [
    'a path without a value',
    'PATCH',
    arqs,
    binding({ hostname: null }),
    400,
    () => '/hostname needs a value',
  ],
  [
    'an unknown path',
    'PATCH',
    arqs,
    () => ({ ...nova, body: { [unbound]: [{ op: 'add', path: '/state', value: 'Bound' }] } }),
    400,
    () => '/state',
  ],
  [
    'a project at microversion 2.0',
    'PATCH',
    arqs,
    () => ({
      ...nova,
      body: { [unbound]: [...patch({}), { op: 'add', path: '/project_id', value: 'p' }] },
    }),
    406,
    () => '2.1',
  ],
  [
    'a project from a user who is not admin',
    'PATCH',
    arqs,
    () => ({
      ...nova,
      microversion: 'accelerator 2.1',
      body: { [unbound]: [...patch({}), { op: 'add', path: '/project_id', value: 'p' }] },
    }),
    403,
    () => 'admin',
  ],
  [
    'add and remove at once',
    'PATCH',
    arqs,
    () => ({ ...nova, body: { [unbound]: [...patch({}), { op: 'remove', path: '/hostname' }] } }),
    400,
    () => 'duplicate path',
  ],
  [
    'an empty patch',
    'PATCH',
    arqs,
    () => ({ ...nova, body: { [unbound]: [] } }),
    400,
    () => unbound,
  ],
  [
    'a patch of no ARQ',
    'PATCH',
    arqs,
    () => ({ ...nova, body: {} }),
    400,
    () => 'names no accelerator request',
  ],
  [
    'a key that is not a uuid',
    'PATCH',
    arqs,
    () => ({ ...nova, body: { nope: patch({}) } }),
    400,
    () => '"nope"',
  ],
  [
    'a bind without a service token',
    'PATCH',
    arqs,
    binding({}, { token: 'demo-token' }),
    403,
    () => 'requires a service token',
  ],
  [
    'an unbind without a service token',
    'PATCH',
    arqs,
    () => ({ token: 'demo-token', body: { [bound]: [{ op: 'remove', path: '/hostname' }] } }),
    403,
    () => 'requires a service token',
  ],
  [
    'one ARQ in two spellings',
    'PATCH',
    arqs,
    () => ({ ...nova, body: { [unbound]: patch({}), [unbound.toUpperCase()]: patch({}) } }),
    400,
    () => 'Duplicate ARQ',
  ],
  [
    'more ARQs than a transaction takes',
    'PATCH',
    arqs,
    () => ({
      ...nova,
      body: Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`no uuid ${at}`, patch({})])),
    }),
    400,
    () => 'at most 49',
  ],
  [
    'a profile name longer than a key',
    'POST',
    arqs,
    () => ({ ...nova, body: { device_profile_name: 'x'.repeat(3000) } }),
    404,
    () => 'not found',
  ],
  [
    'a profile name without letters',
    'POST',
    arqs,
    () => ({ ...nova, body: { device_profile_name: '\ud800\u0000' } }),
    400,
    () => 'half of a surrogate pair',
  ],
  [
    'a delete by an empty instance',
    'DELETE',
    `${arqs}?instance=${instance}`,
    () => ({ token: 'demo-token' }),
    403,
    () => 'send_service_user_token',
  ],
  [
    'a delete of a bound ARQ without its instance',
    'DELETE',
    `${arqs}?arqs=BOUND`,
    () => ({ token: 'demo-token' }),
    403,
    () => 'requires a service token',
  ],
  ['an empty delete', 'DELETE', arqs, () => nova, 400, () => '?arqs= or ?instance='],
  [
    'a delete by arqs and instance',
    'DELETE',
    `${arqs}?arqs=BOUND&instance=${instance}`,
    () => nova,
    400,
    () => '?arqs= or ?instance=',
  ],
  ['an unknown bind state', 'GET', `${arqs}?bind_state=bound`, () => nova, 400, () => 'bind_state'],
  ['an unknown query parameter', 'GET', `${arqs}?colour=red`, () => nova, 400, () => 'colour'],
  ['an invalid uuid in a query', 'GET', `${arqs}?instance=1`, () => nova, 400, () => 'instance'],
  [
    'a device profile without a name',
    'POST',
    '/v2/device_profiles',
    () => ({ body: [{ name: null, groups: [{ 'resources:FPGA': '1' }] }] }),
    400,
    () => '[0].name: ',
  ],
  [
    'an attribute without a value',
    'POST',
    '/v2/attributes',
    () => ({ body: { deployable_id: 1, key: 'k' } }),
    400,
    () => 'value: ',
  ],
  [
    'a description of half a surrogate pair',
    'POST',
    '/v2/device_profiles',
    () => ({ body: { name: 'half', description: 'a\ud800', groups: [{ 'resources:FPGA': '1' }] } }),
    400,
    () => 'half of a surrogate pair',
  ],
  [
    'a device profile larger than its row',
    'POST',
    '/v2/device_profiles',
    () => ({ body: [{ name: 'large', groups: Array.from({ length: 32 }, largeGroup) }] }),
    400,
    () => 'larger than',
  ],
  ...['enable', 'disable', 'force_release'].flatMap((action): Case[] => [
    [`${action} without uuid`, 'POST', `/v2/devices//${action}`, () => ({}), 404, () => 'Device '],
    [
      `${action} of a device whose uuid is longer than a key`,
      'POST',
      `/v2/devices/${'x'.repeat(3000)}/${action}`,
      () => ({}),
      404,
      () => 'Device x',
    ],
  ]),
];

/** As many keys as a group may have, each as long as a trait's name may be. */
function largeGroup(): Record<string, string> {
  const traits = Array.from({ length: 63 }, (_, index) => {
    return [`trait:CUSTOM_${String(index).padStart(248, '0')}`, 'required'];
  });
  return { 'resources:FPGA': '1', ...Object.fromEntries(traits) };
}

describe('bad input is refused with its fault named, and changes nothing', () => {
  it.each(cases)('%s', async (_name, method, path, ask, status, sentence) => {
    const url = path.replace('FOREIGN', foreign).replace('BOUND', bound);
    const answer = await refused(world, method, url, ask());
    expect([answer.status, sentenceOf(answer)]).toEqual([
      status,
      expect.stringContaining(sentence()),
    ]);
    expect(answer.headers.get('x-openstack-request-id')).toMatch(/^req-/);
  });
});

it('refuses a second binding of an instance while handles are free', async () => {
  await applyReport(
    world.deps,
    'cmp1',
    aReport([aDevice({ handles: 3 })], { sequence: 2 }),
    Date.now(),
  );
  const body = { [unbound]: patch({ instance_uuid: instance }) };
  const answer = await refused(world, 'PATCH', arqs, { ...nova, body });
  expect([answer.status, sentenceOf(answer)]).toEqual([
    400,
    expect.stringContaining('already has accelerator requests. Cannot append a new one to it.'),
  ]);
});
