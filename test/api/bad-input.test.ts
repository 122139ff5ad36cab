// A refused request has the right status and a message that names the fault, and changes nothing.

import { beforeAll, expect, it } from 'vitest';
import { providerUuid } from '#core/domain/ids.ts';
import { applyReport } from '#core/operations/inventory/apply-report.ts';
import { aDevice, aReport } from '#test/support/reports.ts';
import { refused, sentenceOf } from '#test/support/stored/refusals.ts';
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
const user: Ask = { token: 'demo-token' };
const removal = { op: 'remove', path: '/hostname' };
const secondBind = 'already has accelerator requests. Cannot append a new one to it.';

const bind = (given: Parameters<typeof patch>[0]) => () => ({ [unbound]: patch(given) });
const added =
  (...operations: object[]) =>
  () => ({ [unbound]: [...patch({}), ...operations] });
const project = added({ op: 'add', path: '/project_id', value: 'p' });
const twoSpellings = () => ({ [unbound]: patch({}), [unbound.toUpperCase()]: patch({}) });
const fifty = () =>
  Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`no uuid ${at}`, patch({})]));

/** A name may be that of a variable: UNBOUND, BOUND or FOREIGN. */
type Refusal = [name: string, status: number, sentence: string];

it.each<[...Refusal, body: () => object, ask?: Ask]>([
  ['an unknown ARQ', 404, missing, () => ({ [missing]: patch({}) })],
  ['another host', 400, 'is not on host cmp2.', bind({ hostname: 'cmp2' })],
  ['an unknown provider', 404, missing, bind({ device_rp_uuid: missing })],
  ['a provider of another class', 400, 'has PGPU', bind({ device_rp_uuid: gpu })],
  ['no free handle', 409, 'fewer than 1 free', bind({})],
  ['a second bind of an instance', 400, secondBind, bind({ instance_uuid: instance })],
  ['a bind of a bound ARQ', 409, 'BOUND is Bound', () => ({ [bound]: patch({}) })],
  ['an invalid host name', 400, '/hostname is not a host name', bind({ hostname: '../x' })],
  ['an invalid instance', 400, '/instance_uuid is not a uuid', bind({ instance_uuid: 'x' })],
  ['a path without a value', 400, '/hostname needs a value', bind({ hostname: null })],
  ['an unknown path', 400, '/state', added({ op: 'add', path: '/state', value: 'Bound' })],
  ['a project at microversion 2.0', 406, '2.1', project],
  ['a project from a member', 403, 'admin', project, { ...nova, microversion: 'accelerator 2.1' }],
  ['add and remove at once', 400, 'duplicate path', added(removal)],
  ['an empty patch', 400, 'UNBOUND', () => ({ [unbound]: [] })],
  ['a patch of no ARQ', 400, 'names no accelerator request', () => ({})],
  ['a key that is not a uuid', 400, '"nope"', () => ({ nope: patch({}) })],
  ['a bind without a service token', 403, 'requires a service token', bind({}), user],
  ['an unbind by a user', 403, 'requires a service token', () => ({ [bound]: [removal] }), user],
  ['one ARQ in two spellings', 400, 'Duplicate ARQ', twoSpellings],
  ['more ARQs than a transaction takes', 400, 'at most 49', fifty],
])('a PATCH with %s is refused', (_name, status, sentence, body, ask = nova) =>
  isRefused(`PATCH ${arqs}`, { ...ask, body: body() }, status, sentence),
);

const bytes = (...parts: readonly (string | number)[]) =>
  new Uint8Array(
    parts.flatMap((part) => (typeof part === 'string' ? [...Buffer.from(part)] : part)),
  );
const profileOf = (...inside: readonly number[]) =>
  bytes('[{"name":"b","description":"x', ...inside, 'y","groups":[{"resources:FPGA":"1"}]}]');

it.each([
  ['Latin-1', profileOf(0xe9)],
  ['a sequence that is cut', profileOf(0xc3)],
  ['an overlong sequence', profileOf(0xc0, 0xaf)],
  ['a raw surrogate', profileOf(0xed, 0xa0, 0x80)],
  ['a code point beyond Unicode', profileOf(0xf4, 0x90, 0x80, 0x80)],
  ['UTF-16', new Uint8Array(Buffer.from('\ufeff[{}]', 'utf16le'))],
])('a body in %s is refused as not UTF-8', async (_name, body) => {
  for (const type of ['application/json', 'application/json; charset=utf-8']) {
    const response = await fetch(`${world.apiUrl}/v2/device_profiles`, {
      method: 'POST',
      headers: { 'X-Auth-Token': 'admin-token', 'Content-Type': type },
      body,
    });
    expect(response.status).toBe(400);
    expect(await response.text()).toMatch(/not valid (UTF-8|JSON)/);
  }
});

it.each([
  'AAAAAAAA-0000-4000-8000-000000000001',
  'aaaaaaaa000040008000000000000001',
  'aaaaaaaa-00004000-8000-000000000001',
  'urn:uuid:aaaaaaaa-0000-4000-8000-000000000001',
  'uuid:aaaaaaaa-0000-4000-8000-000000000001',
  '{aaaaaaaa-0000-4000-8000-000000000001}',
])('a profile may not be created with, or renamed to, the uuid %s', async (name) => {
  const sentence = 'may not have the form of a uuid';
  const groups = [{ 'resources:FPGA': '1' }];
  await isRefused('POST /v2/device_profiles', { body: [{ name, groups }] }, 400, sentence);
  await isRefused('POST /v2/device_profiles', { body: { name, groups } }, 422, sentence);
  const change = { body: { name, groups } };
  await isRefused('PUT /operator/v1/device_profiles/fpga', change, 400, sentence);
});

it.each([
  [{ 'resources:FPGA': true }, '[0].groups[0].resources:FPGA: must be an integer, or text'],
  [{ 'resources:FPGA': 1.5 }, 'must be an integer, or text'],
  [{ 'resources:FPGA': null }, 'must be an integer, or text'],
  [{ 'resources:FPGA': '0' }, 'is not a positive integer'],
  [{ 'accel:bitstream_id': 'FB021995_BF21_0000' }, 'must be the uuid of an image'],
  [{ 'accel:attach_target': 'vm' }, 'must be VM, host or none'],
  [{ 'accel:function_id': 'a.b' }, "must be letters, digits, '_' and '-'"],
  [{ 'accel:attribute:size': '> 3' }, 'or >= and an integer'],
])('a group with %j is refused, and what is allowed is named', async (wrong, sentence) => {
  const body = [{ name: 'wrong', groups: [{ 'resources:FPGA': '1', ...wrong }] }];
  await isRefused('POST /v2/device_profiles', { body }, 400, sentence);
});

it.each(['<profile_name>', 'a name', 'FPGA', ''])(
  'Nova is answered an empty list for the missing profile %j, which it reports as such',
  async (name) => {
    const path = `/v2/device_profiles?name=${encodeURIComponent(name)}`;
    const answer = await world.ask('GET', path, nova);
    expect([answer.status, answer.json]).toEqual([200, { device_profiles: [] }]);
    expect((await world.ask('GET', path)).status).toBe(422);
  },
);

it('a bind on another host is refused without the name of the right one', async () => {
  const body = { [unbound]: patch({ hostname: 'cmp2' }) };
  const { text } = await world.ask('PATCH', arqs, { ...nova, body });
  expect([text.includes('cmp2'), text.includes('cmp1')]).toEqual([true, false]);
});

const name = (device_profile_name: unknown): Ask => ({ ...nova, body: { device_profile_name } });
const profile = (body: unknown): Ask => ({ body });
const groups = [{ 'resources:FPGA': '1' }];
const tooLarge = { name: 'large', groups: Array.from({ length: 32 }, largeGroup) };
const halfPair = { name: 'half', description: 'a\ud800', groups };
const json = { 'Content-Type': 'application/json' };
const text = { 'Content-Type': 'text/plain' };
const reader = { token: 'reader-token', body: { device_profile_name: 'fpga' } };
const systemAdmin = { token: 'system-admin-token' };
const at = (microversion: string): Ask => ({ ...nova, microversion });
const profiles = 'POST /v2/device_profiles';
const attribute = { body: { deployable_id: 1, key: 'k' } };
const byInstance = `DELETE ${arqs}?instance=${instance}`;
const neither = '?arqs= or ?instance=';
const long = 'x'.repeat(3000);

it.each<[...Refusal, request: string, ask?: Ask]>([
  ['an unknown profile', 404, 'Device profile nope', `POST ${arqs}`, name('nope')],
  ['no profile named', 400, 'device_profile_name', `POST ${arqs}`, { ...nova, body: {} }],
  ['a list for a body', 400, 'must be an obj', `POST ${arqs}`, { ...nova, body: [] }],
  ['malformed JSON', 400, 'not valid JSON', `POST ${arqs}`, { ...nova, body: '{"device' }],
  ['no body', 400, 'needs a body', `POST ${arqs}`, { ...nova, headers: json }],
  ['another type', 415, 'text/plain', `POST ${arqs}`, { ...nova, body: '{}', headers: text }],
  ['more than a megabyte', 413, 'larger', `POST ${arqs}`, name('x'.repeat(2 ** 20))],
  ['a profile name longer than a key', 404, 'not found', `POST ${arqs}`, name(long)],
  ['half a pair', 400, 'half of a surrogate pair', `POST ${arqs}`, name('\ud800\u0000')],
  ['a reader who creates', 403, 'cyborg:arq:create', `POST ${arqs}`, reader],
  ['a foreign ARQ, by a user', 404, 'FOREIGN', `GET ${arqs}/FOREIGN`, user],
  ['a foreign ARQ deleted by a user', 404, 'FOREIGN', `DELETE ${arqs}?arqs=FOREIGN`, user],
  ['an instance, by a user', 403, 'send_service_user_token', byInstance, user],
  ['a bound ARQ, by a user', 403, 'requires a service token', `DELETE ${arqs}?arqs=BOUND`, user],
  ['an empty delete', 400, neither, `DELETE ${arqs}`, nova],
  ['a delete by both', 400, neither, `DELETE ${arqs}?arqs=BOUND&instance=${instance}`, nova],
  [
    'a prototype',
    400,
    '"__proto__"',
    profiles,
    profile('[{"name":"p","__proto__":{},"groups":[]}]'),
  ],
  [
    'a prototype in a group',
    400,
    '"__proto__"',
    profiles,
    profile('[{"groups":[{"__proto__":1}]}]'),
  ],
  ['an unknown bind state', 400, 'bind_state', `GET ${arqs}?bind_state=bound`, nova],
  ['an unknown query parameter', 400, 'colour', `GET ${arqs}?colour=red`, nova],
  ['an invalid uuid in a query', 400, 'instance', `GET ${arqs}?instance=1`, nova],
  ['a version out of range', 406, '2.9', `GET ${arqs}`, at('accelerator 2.9')],
  ['a version of another service', 406, 'compute 2.1', `GET ${arqs}`, at('compute 2.1')],
  ['a system-scoped token', 403, 'not scoped to a project', `GET ${arqs}`, systemAdmin],
  ['a profile without a name', 400, '[0].name: ', profiles, profile([{ name: null, groups }])],
  ['half a pair in a profile', 400, 'half of a surrogate pair', profiles, profile(halfPair)],
  ['a profile larger than its row', 400, 'larger than', profiles, profile([tooLarge])],
  ['an attribute without a value', 400, 'value: ', 'POST /v2/attributes', attribute],
  ['an unknown path of the API', 404, '/v2/nope', 'GET /v2/nope', nova],
  ['a method that the path does not have', 405, 'GET', 'DELETE /v2/devices', nova],
  ['a member who reads devices', 403, 'cyborg:device:get_all', 'GET /v2/devices', user],
  ['an unknown device', 404, missing, `GET /v2/devices/${missing}`],
  ['an unknown deployable', 404, missing, `GET /v2/deployables/${missing}`],
  ['an unknown marker', 400, missing, `GET /v2/devices?marker=${missing}`],
  ['a limit of zero', 400, 'limit', 'GET /v2/devices?limit=0'],
  ...['enable', 'disable', 'force_release'].flatMap((action): [...Refusal, string][] => [
    [`${action} without a uuid`, 404, 'Device ', `POST /v2/devices//${action}`],
    [`${action} of a long uuid`, 404, 'Device x', `POST /v2/devices/${long}/${action}`],
  ]),
])('%s is refused', (_name, status, sentence, request, ask = {}) =>
  isRefused(request, ask, status, sentence),
);

async function isRefused(request: string, ask: Ask, status: number, sentence: string) {
  const filled = (text: string) =>
    text.replace('UNBOUND', unbound).replace('BOUND', bound).replace('FOREIGN', foreign);
  const [method = '', path = ''] = filled(request).split(' ');
  const answer = await refused(world, method, path, ask);
  expect([answer.status, sentenceOf(answer)]).toEqual([
    status,
    expect.stringContaining(filled(sentence)),
  ]);
  expect(answer.headers.get('x-openstack-request-id')).toMatch(/^req-/);
}

/** A group with the most keys, each as long as a trait's name may be. */
function largeGroup(): Record<string, string> {
  const traits = Array.from({ length: 63 }, (_, index) => {
    return [`trait:CUSTOM_${String(index).padStart(248, '0')}`, 'required'];
  });
  return { 'resources:FPGA': '1', ...Object.fromEntries(traits) };
}

it('refuses a second binding of an instance while handles are free', async () => {
  const report = aReport([aDevice({ handles: 3 })], { sequence: 2 });
  await applyReport(world.deps, 'cmp1', report, Date.now());
  const body = { [unbound]: patch({ instance_uuid: instance }) };
  await isRefused(`PATCH ${arqs}`, { ...nova, body }, 400, secondBind);
});
