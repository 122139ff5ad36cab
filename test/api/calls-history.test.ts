// Who asked for which change, and what came of it: each call of a user that changes something, and
// each that is refused, leaves one record. Nova's calls leave one if they fail,
// beside those of the streams.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ServiceUnavailable } from '#core/clients/http.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { refusalsMax } from '#functions/http/call-records.ts';
import { routes } from '#functions/routes.ts';
import { idOf } from '#local/openstack/keystone/catalog.ts';
import { OpenApiCheck } from '#test/contract/openapi-check.ts';
import { bindPatch } from '#test/support/bind-patch.ts';
import { aDevice, applySettled, aReport } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { type Ask, startWorld } from '#test/support/world.ts';

const none = '99999999-0000-4000-8000-000000000009';
const arqs = '/v2/accelerator_requests';
const world = perFile(() => startWorld({ settings: { CYBORG_ATTACH_TYPES: 'TEST_PCI' } }));
let check: OpenApiCheck;
let since: string;

beforeAll(async () => {
  await applySettled(world.deps, 'cmp1', aReport([aDevice({ handles: 3 })]), Date.now());
  await world.createProfile('fpga', { 'resources:FPGA': '1' });
  const { json } = await world.ask('GET', '/openapi.json', { token: null });
  check = new OpenApiCheck(json as never);
});

beforeEach(async () => {
  // Records of one millisecond have no order.
  since = await nextMillisecond();
});

async function nextMillisecond(): Promise<string> {
  const before = Date.now();
  while (Date.now() === before) await new Promise((resolve) => setImmediate(resolve));
  return new Date().toISOString();
}

/** Since the test began, the oldest first. */
async function calls() {
  const url = `/operator/v1/history?order=oldest-first&from=${since}&limit=1000`;
  const answer = await world.ask('GET', url);
  check.check({ method: 'GET', url, ...answer });
  return answer.json.history.filter(({ kind }) => kind.startsWith('call.'));
}

const admin = { by: `user:${idOf('user', 'admin')}` };
const roles = expect.arrayContaining(['admin']);
const adminCall = { project_id: idOf('project', 'admin'), roles };
const quotaPath = `/operator/v1/quotas/${idOf('project', 'demo')}`;

describe('a call that changes something', () => {
  it('leaves who, what, request and result: a quota', async () => {
    const { headers } = await world.ask('PUT', quotaPath, { body: { limits: { FPGA: 3 } } });
    expect(await calls()).toMatchObject([
      {
        ...admin,
        kind: 'call.done',
        request_id: headers.get('x-openstack-request-id'),
        reason: null,
        call: {
          ...adminCall,
          rule: 'cyborg:operator:quota:set',
          method: 'PUT',
          path: quotaPath,
          status: 200,
          given: '{"limits":{"FPGA":3}}',
        },
      },
    ]);
    await world.ask('DELETE', quotaPath);
    expect((await calls()).at(-1)).toMatchObject({ call: { method: 'DELETE', status: 204 } });
  });

  it.each([
    ['reap', { dry_run: false, instance: none }],
    ['reconcile', { host: 'cmp1', dry_run: true }],
    ['hosts/cmp1/drain', { reason: 'a fan', until: '2020-01-01T00:00:00Z' }],
    ['hosts/cmp1/settle', { boot_id: none }],
  ])('leaves what the body of %s asked for', async (path, body) => {
    await world.ask('POST', `/operator/v1/${path}`, { body });
    const [record] = await calls();
    expect(JSON.parse(record?.call?.given ?? '{}')).toEqual(body);
  });

  it("leaves who deleted another project's ARQ, by its uuid or by its instance", async () => {
    const [uuid] = await world.createArqs('fpga', 'alt-token');
    await world.ask('DELETE', `${arqs}?arqs=${uuid}`);
    await world.ask('DELETE', `${arqs}?instance=${none}`);
    const call = { ...adminCall, rule: 'cyborg:arq:delete', method: 'DELETE', status: 204 };
    expect(await calls()).toMatchObject([
      { ...admin, kind: 'call.done', call: { ...call, path: `${arqs}?arqs=${uuid}` } },
      { ...admin, kind: 'call.done', call: { ...call, path: `${arqs}?instance=${none}` } },
    ]);
  });

  it('leaves who had a host forgotten, and why that was refused', async () => {
    await world.ask('DELETE', '/operator/v1/hosts/cmp1');
    expect(await calls()).toMatchObject([
      {
        ...admin,
        kind: 'call.refused',
        reason: expect.stringContaining('Host cmp1 cannot be forgotten'),
        call: { ...adminCall, rule: 'cyborg:operator:host:forget', status: 409 },
      },
    ]);
  });

  it('leaves a record beside a service token, too, where Nova does not call', async () => {
    const ask: Ask = { serviceToken: 'nova-token', body: { limits: { FPGA: 9 } } };
    expect((await world.ask('PUT', quotaPath, ask)).status).toBe(200);
    expect((await world.ask('PUT', quotaPath, { ...ask, token: 'demo-token' })).status).toBe(403);
    const call = { rule: 'cyborg:operator:quota:set' };
    expect(await calls()).toMatchObject([
      { ...admin, kind: 'call.done', call },
      { by: `user:${idOf('user', 'demo')}`, kind: 'call.refused', call },
    ]);
    await world.ask('DELETE', quotaPath);
  });

  it('leaves who added an attribute, and what', async () => {
    const { json } = await world.ask('GET', '/v2/deployables');
    const [{ uuid }] = json.deployables;
    const body = { deployable_id: uuid, key: 'rack', value: '7' };
    const added = await world.ask('POST', '/v2/attributes', { body });
    expect(added.status).toBe(201);
    const given = JSON.stringify({ deployable: uuid, key: 'rack', value: '7' });
    expect(await calls()).toMatchObject([
      { ...admin, call: { rule: 'cyborg:attribute:create', status: 201, given } },
    ]);
  });
});

describe('a refused change', () => {
  const changing = routes.filter(({ method, policy }) => method !== 'GET' && policy);

  it.each(changing)('by a reader leaves a record: $method $path', async ({ method, path }) => {
    // A container of its own: others count refusals of the same user.
    const { resourceHandler } = await import('#functions/http/resource-handler.ts');
    const row = changing.find((each) => each.method === method && each.path === path);
    const { actions } = await import(`#functions/${row?.resource}/handler.ts`);
    const { eventOf } = await import('#test/support/aws/lambda/http-event.ts');
    const handler = resourceHandler(row?.resource as never, actions, () => world.deps);
    const concrete = path.replaceAll('{id}', none);
    const headers = { 'x-auth-token': 'reader-token', 'openstack-api-version': 'accelerator 2.3' };
    const event = eventOf(method, concrete, headers, '{}');
    const { statusCode } = await handler(event, {} as never);
    expect(statusCode).toBe(403);
    expect(await calls()).toMatchObject([
      {
        by: `user:${idOf('user', 'reader')}`,
        kind: 'call.refused',
        reason: expect.stringMatching(/^Policy does not allow/),
        call: { method, path: concrete, status: 403, rule: row?.policy },
      },
    ]);
  });

  it('is stored a bounded number of times, and each time in the log', async () => {
    const ask: Ask = { token: 'alt-token', body: { limits: {} } };
    for (let count = 0; count < refusalsMax + 10; count += 1) {
      expect((await world.ask('PUT', quotaPath, ask)).status).toBe(403);
    }
    expect(await calls()).toHaveLength(refusalsMax);
    // What others do is stored.
    await world.ask('PUT', quotaPath, { body: { limits: {} } });
    expect(await calls()).toHaveLength(refusalsMax + 1);
  });
});

describe("Nova's call that fails", () => {
  it('leaves a record for its project: a refused POST', async () => {
    const { headers } = await world.asNova('POST', arqs, { device_profile_name: 'nowhere' });
    const refused = {
      by: `user:${idOf('user', 'demo')}`,
      kind: 'call.refused',
      request_id: headers.get('x-openstack-request-id'),
      project_id: idOf('project', 'demo'),
      device_profile_name: 'nowhere',
      reason: 'Device profile nowhere not found.',
      call: { method: 'POST', path: arqs, status: 404 },
    };
    expect(await calls()).toMatchObject([refused]);
    const url = `/operator/v1/history?kind=call.refused&from=${since}`;
    const { json } = await world.ask('GET', url, { token: 'demo-token' });
    expect(json.history).toMatchObject([refused]);
  });

  it('leaves a record of its instance: a bind while Nova cannot be asked', async () => {
    const { resourceHandler } = await import('#functions/http/resource-handler.ts');
    const { actions } = await import('#functions/accelerator-requests/handler.ts');
    const { eventOf } = await import('#test/support/aws/lambda/http-event.ts');
    const away = new ServiceUnavailable('Nova', 'http://nova', 'it is away', true);
    const nova = { ...world.deps.clients.nova, server: () => Promise.reject(away) };
    const deps = { ...world.deps, clients: { ...world.deps.clients, nova } };
    const handler = resourceHandler('accelerator-requests', actions, () => deps);
    const [uuid] = await world.createArqs('fpga');
    const target = { hostname: 'cmp1', device_rp_uuid: none, instance_uuid: none };
    const headers = {
      'content-type': 'application/json',
      'x-auth-token': 'admin-token',
      'x-service-token': 'nova-token',
    };
    const body = JSON.stringify({ [uuid]: bindPatch(target) });
    const { statusCode } = await handler(eventOf('PATCH', arqs, headers, body), {} as never);
    expect(statusCode).toBe(503);
    const url = `/operator/v1/history?instance=${none}&from=${since}`;
    const { json } = await world.ask('GET', url);
    expect(json.history).toMatchObject([
      {
        ...admin,
        kind: 'call.failed',
        instance_uuid: none,
        reason: 'Nova cannot be asked right now.',
        call: { method: 'PATCH', status: 503 },
      },
    ]);
  });
});

describe('no record is left by', () => {
  it("Nova's create, bind, refused bind and delete", async () => {
    const uuids = await world.createArqs('fpga');
    const bind = (provider: string) => world.bindArqs(uuids, { provider, instance: none });
    expect((await bind(none)).status).toBe(404);
    expect((await bind(providerUuid('cmp1_FakeDevice'))).status).toBe(202);
    expect((await world.asNova('DELETE', `${arqs}?instance=${none}`)).status).toBe(204);
    expect(await calls()).toEqual([]);
  });

  it('a read, refused or not, and a request without a valid token', async () => {
    await world.ask('GET', '/v2/devices');
    await world.ask('GET', '/v2/devices', { token: 'reader-token' });
    await world.ask('PUT', quotaPath, { token: 'nope', body: { limits: {} } });
    await world.ask('PUT', '/operator/v1/quotas', { body: {} });
    expect(await calls()).toEqual([]);
  });
});

it('the answer is the same while the record cannot be stored, and the log has the record', async () => {
  const { resourceHandler } = await import('#functions/http/resource-handler.ts');
  const { actions } = await import('#functions/operator/handler.ts');
  const { eventOf } = await import('#test/support/aws/lambda/http-event.ts');
  const errors: unknown[] = [];
  const log = { ...world.deps.log, error: (...line: unknown[]) => void errors.push(line) };
  const callHistory = { add: () => Promise.reject(new Error('The table is away.')) };
  const deps = { ...world.deps, callHistory, log: { ...log, child: () => log } };
  const handler = resourceHandler('operator', actions, () => deps);
  const event = eventOf('DELETE', quotaPath, { 'x-auth-token': 'admin-token' });
  expect((await handler(event, {} as never)).statusCode).toBe(204);
  const record = expect.objectContaining({ kind: 'call.done', ...admin });
  expect(errors).toEqual([['Call record not stored', { record, error: expect.any(Error) }]]);
});
