// The contract suite: the YAML files of this folder, each in its order, against the deployed
// handlers; each answer is compared with the OpenAPI document, and each documented status occurs.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ProviderUuid } from '#core/domain/ids.ts';
import { failBind } from '#core/operations/bind/finish-bind.ts';
import { applyReport } from '#core/operations/inventory/apply-report.ts';
import { routes } from '#functions/routes.ts';
import { GabbiRun, readTests } from '#test/contract/gabbi.ts';
import { anImage } from '#test/contract/image.ts';
import { OpenApiCheck } from '#test/contract/openapi-check.ts';
import { findVariables, type Tokens } from '#test/contract/variables.ts';
import { iotAt, serveJobs } from '#test/support/http-server.ts';
import { aDevice, aGpu, aHandle, aReport } from '#test/support/reports.ts';
import { refused } from '#test/support/stored/refusals.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { type Answer, type Ask, startWorld } from '#test/support/world.ts';

const files = readdirSync(import.meta.dirname).filter((file) => file.endsWith('.yaml'));
const none = '99999999-0000-4000-8000-000000000009';
const tokens: Tokens = {
  ADMIN_TOKEN: 'admin-token',
  MEMBER_TOKEN: 'demo-token',
  OTHER_TOKEN: 'alt-token',
  SERVICE_TOKEN: 'nova-token',
};

const jobService = perFile(serveJobs);
const world = perFile(() =>
  startWorld({
    settings: {
      CYBORG_ATTACH_TYPES: 'TEST_PCI',
      CYBORG_REQUIRE_SIGNATURE: '',
      ...iotAt(jobService),
    },
  }),
);
let base: string;
let check: OpenApiCheck;
let variables: Readonly<Record<string, string>>;
/** `<method> <path> <status>` of the answers so far. */
const met = new Set<string>();

beforeAll(async () => {
  base = `${world.apiUrl}/accelerator`;
  const fpga = (index: number) =>
    aDevice({
      address: `0000:0${index}:00.0`,
      provider_suffix: undefined,
      offers: undefined,
      regions: [
        {
          name: 'region0',
          kind: 'reconfigurable-region',
          resource_class: 'FPGA',
          traits: [],
          attach_handles: [aHandle(index)],
          'region-type-uuid': none,
        },
      ],
    });
  const report = aReport([aDevice({ handles: 4 }), fpga(1), fpga(2), fpga(3)]);
  await applyReport(world.deps, 'cmp1', report, Date.now());
  check = new OpenApiCheck(
    JSON.parse((await world.ask('GET', '/openapi.json', { token: null })).text),
  );
  variables = await findVariables(base, { ...tokens, IMAGE: await anImage(world.urls.glance) });
});
for (const file of files) {
  describe(file, () => {
    let run: GabbiRun;
    beforeAll(() => {
      run = new GabbiRun(base, variables);
    });

    it.each(readTests(join(import.meta.dirname, file)).map((test) => [test.name, test] as const))(
      '%s',
      async (_name, test) => {
        const exchanged = await run.run(test);
        const url = exchanged.url.replace(base, '');
        const { route } = check.check({ ...exchanged, url });
        if (route) met.add(`${route} ${exchanged.status}`);
        expect(exchanged.headers.get('x-openstack-request-id')).toMatch(/^req-/);
      },
    );
  });
}

/** Requests that every route refuses alike; the body is invalid too, so that nothing is stored. */
const alike: readonly [status: number, what: string, query: string, ask: Ask][] = [
  [401, 'no token', '', { token: null }],
  [403, 'a token of the system', '', { token: 'system-admin-token' }],
  [406, 'no such microversion', '', { microversion: 'accelerator 2.9' }],
  [400, 'no such parameter', '?colour=red', { body: {} }],
  [415, 'a body of another type', '', { body: '{}', headers: { 'content-type': 'text/xml' } }],
  [413, 'a body of more than a megabyte', '', { body: ' '.repeat(2 ** 20 + 1) }],
];

describe('every route', () => {
  it.each(
    routes.flatMap((row) =>
      alike.map(([status, what, query, ask]) => [row, what, status, query, ask] as const),
    ),
  )('$method $path: %s', async (row, _what, status, query, ask) => {
    const path = row.path.replaceAll('{id}', none).replace('/openapi', '/openapi.json');
    const route = documentedRoute(`/accelerator${path}`);
    const isDocumented = check.documented().includes(`${row.method} ${route} ${status}`);
    if (!isDocumented) return;
    const isBodyless = row.method === 'GET' || row.method === 'DELETE';
    const { body, ...rest } = ask;
    const answer = await refused(world, row.method, `/accelerator${path}${query}`, {
      ...rest,
      ...(body !== undefined && !isBodyless && { body }),
    });
    expect(answer.status).toBe(status);
    note(row.method, path + query, answer);
  });
});

describe('the cases that need more than a YAML file', () => {
  const instance = '77aa0000-0000-4000-8000-000000000007';

  it('started binds return 423 to a list of resolved ARQs, and failed binds return 409', async () => {
    const group = { 'resources:FPGA': '1', 'accel:function_id': 'any' };
    await world.createProfile('slow', group);
    const { deployable } = await regionProvider();
    await world.createBound('slow', { provider: deployable, instance });
    const resolved = `/v2/accelerator_requests?instance=${instance}&bind_state=resolved`;
    const locked = await world.asNova('GET', resolved);
    expect(locked.status).toBe(423);
    note('GET', resolved, locked);

    const binding = await world.deps.store.arqs.binding(instance);
    if (!binding) throw new Error('The binding is missing.');
    await failBind(world.deps, binding, { cause: 'host', reason: 'The board is on fire.' });
    const failed = await world.asNova('GET', `/v2/accelerator_requests?instance=${instance}`);
    expect([failed.status, failed.json.error]).toEqual([409, expect.stringContaining('on fire')]);
    note('GET', '/v2/accelerator_requests', failed);
    await forceItsRelease(deployable as ProviderUuid);
  });

  /**
   * Frees the region of a failed bind by force: first its host is asked, then it has two agents.
   */
  async function forceItsRelease(region: ProviderUuid): Promise<void> {
    const { inventory, releases } = world.deps.store;
    const stored = await inventory.provider(region);
    const waiting = stored?.handles.find((handle) => handle.release);
    const release = await releases.awaited(waiting?.release ?? '');
    if (!stored || !release) throw new Error('The release is missing.');
    const at = new Date().toISOString();
    await releases.quarantine(release, { at, by: 'sweep' }, 'The host did not answer.', at);
    const path = `/v2/devices/${stored.deployable.deviceUuid}/force_release`;
    const asked = await world.ask('POST', path, { body: { reason: 'looked at it' } });
    expect([asked.status, asked.json.cleaning]).toEqual([202, [waiting?.uuid]]);
    note('POST', path, asked);

    const now = new Date().toISOString();
    expect(await inventory.takeLease('cmp1', 'test', now, now)).toBe(true);
    const conflict = { since: now, boots: [] };
    await inventory.putConflict((await inventory.host('cmp1')).host, conflict, 'test');
    const refusal = await world.ask('POST', path, { body: {} });
    expect([refusal.status, refusal.json.error]).toEqual([409, expect.stringContaining('agents')]);
    note('POST', path, refusal);
    const { host } = await inventory.host('cmp1');
    expect(await inventory.endConflict(host, now)).toBe(true);
  }

  it('an image that can be written to a component returns 200', async () => {
    const properties = {
      'accel:component': 'bmc',
      'accel:models': '8086:0b30',
      'accel:version': '2.0',
    };
    const image = await anImage(world.urls.glance, properties);
    const path = `/operator/v1/firmware/images/${image}?model=8086:0B30&component=bmc`;
    const answer = await world.ask('GET', path);
    expect([answer.status, answer.json]).toEqual([
      200,
      { image_uuid: image, model: '8086:0b30', component: 'bmc', version: '2.0' },
    ]);
    note('GET', path, answer);
  });

  it('an image that cannot be written to a component returns 409', async () => {
    const components = [{ name: 'bmc', version: '1.0' }];
    const given = { address: '0000:0a:00.0', provider_suffix: 'Card', components };
    await applyReport(world.deps, 'cmp3', aReport([aDevice(given)]), Date.now());
    const [device] = (await world.deps.store.inventory.host('cmp3')).devices;
    const path = `/v2/devices/${device?.uuid}`;
    const body = [{ op: 'add', path: '/firmware/bmc', value: variables.IMAGE }];
    const refusal = await world.ask('PATCH', path, { body });
    const sentence = expect.stringContaining('has no property accel:component');
    expect([refusal.status, refusal.json.error]).toEqual([409, sentence]);
    note('PATCH', path, refusal);
  });

  it('a device that its driver cleans is reset with 202', async () => {
    await applyReport(world.deps, 'cmp4', aReport([aGpu([{ asked_type: 'a' }])]), Date.now());
    const [device] = (await world.deps.store.inventory.host('cmp4')).devices;
    const path = `/operator/v1/devices/${device?.uuid}/reset`;
    const answer = await world.ask('POST', path, { body: {} });
    expect([answer.status, answer.json.cleaning.length]).toEqual([202, 1]);
    note('POST', path, answer);
  });

  it('a deployable has at most 64 added attributes', async () => {
    const body = { deployable_id: variables.REGION_1, key: 'k', value: 'v' };
    const add = () => world.ask('POST', '/v2/attributes', { body });
    const answers = await Promise.all(Array.from({ length: 66 }, add));
    expect(answers.map(({ status }) => status).filter((status) => status === 201)).toHaveLength(64);
    const refusal = answers.find(({ status }) => status !== 201) as Answer;
    expect([refusal.status, refusal.json.error]).toEqual([409, expect.stringContaining('64')]);
    note('POST', '/v2/attributes', refusal);
  });

  it('a host is asked to report, and one that is away is forgotten', async () => {
    await applyReport(world.deps, 'cmp2', aReport([aDevice()]), Date.now() - 3_600_000);
    const statuses: number[] = [];
    for (const [method, path] of [
      ['POST', '/operator/v1/hosts/cmp1/rediscover'],
      ['POST', '/operator/v1/hosts/cmp2/rediscover'],
      ['DELETE', '/operator/v1/hosts/cmp2'],
    ] as const) {
      const answer = await world.ask(method, path);
      statuses.push(answer.status);
      note(method, path, answer);
    }
    expect(statuses).toEqual([202, 409, 204]);
  });

  it('nothing is reaped while Nova shows no server of another project', async () => {
    const answer = await world.ask('POST', '/operator/v1/reap', { body: { dry_run: false } });
    expect(answer.status).toBe(409);
    note('POST', '/operator/v1/reap', answer);
  });

  it('a conflict of identity is settled', async () => {
    const { inventory } = world.deps.store;
    await applyReport(world.deps, 'cmp3', aReport([aDevice()]), Date.now());
    const now = new Date().toISOString();
    await inventory.takeLease('cmp3', 'test', now, now);
    const { host } = await inventory.host('cmp3');
    const boot = { bootId: host.bootId ?? '', lastAt: now, sequence: 1 };
    await inventory.putConflict(host, { since: now, boots: [boot] }, 'test');
    const body = { boot_id: boot.bootId };
    const answer = await world.ask('POST', '/operator/v1/hosts/cmp3/settle', { body });
    expect(answer.status).toBe(200);
    note('POST', '/operator/v1/hosts/cmp3/settle', answer);
  });

  async function regionProvider() {
    const { json } = await world.ask('GET', `/v2/deployables/${variables.REGION_3}`);
    return { deployable: json.rp_uuid as string };
  }
});

it('each route answers each status that it documents', () => {
  const unmet = check.documented().filter((each) => !met.has(each));
  expect(unmet).toEqual([]);
});

function documentedRoute(path: string): string | undefined {
  return check.pathOf(path.replace('/accelerator', ''));
}

function note(method: string, url: string, { status, headers, text, json }: Answer): void {
  const { route } = check.check({ method, url, status, headers, text, json });
  if (route) met.add(`${route} ${status}`);
}
