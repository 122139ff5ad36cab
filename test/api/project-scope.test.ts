// What each persona sees and does of its own project and of another one, route by route.

import { beforeAll, describe, expect, it } from 'vitest';
import { providerUuid } from '#core/domain/ids.ts';
import { measureFleet } from '#core/operations/fleet/measure-fleet.ts';
import { allHosts } from '#core/operations/placement/restore-tree.ts';
import { idOf } from '#local/openstack/keystone/catalog.ts';
import { bindPatch } from '#test/support/bind-patch.ts';
import { aDevice, applySettled, aReport } from '#test/support/reports.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';
import { authorization, type Role, rightsOf, roles } from './authorization.ts';

/** None has a service token. */
const personas = {
  reader: { token: 'reader-token', project: 'demo' },
  member: { token: 'demo-token', project: 'demo' },
  manager: { token: 'manager-token', project: 'demo' },
  admin: { token: 'admin-token', project: 'admin' },
  service: { token: 'telemetry-token', project: 'service' },
} as const satisfies Readonly<Record<Role, object>>;
type Project = 'demo' | 'alt' | 'admin' | 'service';

interface Server {
  readonly project: string;
  readonly instance: string;
  readonly arq: string;
}

/** A member of each project. */
const members = {
  demo: 'demo-token',
  alt: 'alt-token',
  admin: 'admin-token',
  service: 'telemetry-token',
} as const;
const servers = {} as Record<Project, Server>;
const world = perFile(() =>
  startWorld({ consumers: true, settings: { CYBORG_ATTACH_TYPES: 'TEST_PCI' } }),
);

beforeAll(async () => {
  await applySettled(world.deps, 'cmp1', aReport([aDevice({ handles: 8 })]), Date.now());
  await world.createProfile('fpga', { 'resources:FPGA': '1' });
  for (const [index, project] of (['demo', 'alt', 'admin', 'service'] as const).entries()) {
    servers[project] = await boot(project, `77bb0000-0000-4000-8000-00000000000${index}`);
    const limits = { FPGA: 1000 };
    const path = `/operator/v1/quotas/${idOf('project', project)}`;
    await world.ask('PUT', path, { body: { limits } });
  }
  // As the sweep does each minute: it says how many handles each project has.
  for (let run = 0; run < 2; run += 1) await measureFleet(world.deps, await allHosts(world.deps));
});

async function createArq(project: Project): Promise<string> {
  return (await world.createArqs('fpga', members[project]))[0];
}

async function boot(project: Project, instance: string): Promise<Server> {
  const target = { provider: providerUuid('cmp1_FakeDevice'), instance };
  const [arq] = await world.createBound('fpga', target, members[project]);
  return { project: idOf('project', project), instance, arq };
}

it('has the servers of all projects in the history', async () => {
  const claims = async () => {
    const { json } = await world.ask('GET', '/operator/v1/history?kind=handle.claimed');
    return json.history.length;
  };
  await eventually(claims).toBe(4);
});

const cells = Object.keys(authorization).flatMap((route) =>
  roles.flatMap((role) => {
    const { own, other } = rightsOf(route, role);
    return [
      [route, role, personas[role].project, own] as const,
      [route, role, 'alt', other] as const,
    ];
  }),
);

describe('by route, persona and project', () => {
  it.each(cells)('%s as %s, of project %s: %s', async (route, persona, project, wanted) => {
    const [method = '', path = ''] = route.split(' ');
    const wholeList = await call(method, path, project, persona);
    expect(outcomeOf(wholeList, project)).toBe(wanted);
    // A filter that names what is hidden shows no more than the whole list.
    for (const filter of filters[route] ?? []) {
      const answer = await call(method, `${path}?${filter(servers[project])}`, project, persona);
      expect(outcomeOf(answer, project)).toBe(wanted);
    }
  });

  it('no id of a user in a device is shown to a manager', async () => {
    const { json } = await world.ask('GET', '/v2/devices');
    const path = `/v2/devices/${json.devices[0].uuid}`;
    await world.ask('POST', `${path}/disable`);
    const by = async (token: string) =>
      JSON.parse((await world.ask('GET', path, { token })).text).status_changed_by;
    expect(await by('admin-token')).toContain(idOf('user', 'admin'));
    expect(await by('manager-token')).toBeNull();
    const listed = await world.ask('GET', '/v2/devices', { token: 'manager-token' });
    expect(listed.text).not.toContain(idOf('user', 'admin'));
  });
});

const filters: Readonly<Record<string, readonly ((server: Server) => string)[]>> = {
  'GET /v2/accelerator_requests': [({ instance }) => `instance=${instance}`],
  'GET /operator/v1/history': [
    ({ instance }) => `instance=${instance}`,
    ({ arq }) => `arq=${arq}`,
    ({ project }) => `project=${project}`,
  ],
  'GET /operator/v1/usage': [({ project }) => `project=${project}`],
  'GET /operator/v1/assignments': [
    ({ instance }) => `instance=${instance}`,
    ({ arq }) => `arq=${arq}`,
    ({ project }) => `project=${project}`,
  ],
};

const queries: Readonly<Record<string, string>> = {
  '/operator/v1/capacity': '?profile=fpga',
  // The cells themselves leave records.
  '/operator/v1/history': '?order=oldest-first',
};

const none = '99999999-0000-4000-8000-000000000009';
const needsBody = ['POST', 'PUT', 'PATCH'];

async function call(method: string, path: string, project: Project, persona: Role) {
  const { token } = personas[persona];
  const isArq = path.startsWith('/v2/accelerator_requests');
  const changesArq = isArq && ['PATCH', 'DELETE'].includes(method);
  // Each change has an ARQ of its own, so that no cell sees the work of another one.
  const arq = changesArq ? await createArq(project) : servers[project].arq;
  const id = isArq ? arq : path.includes('/quotas/') ? servers[project].project : none;
  const byQuery = changesArq && method === 'DELETE' && !path.endsWith('{id}');
  const query = byQuery ? `?arqs=${arq}` : (queries[path] ?? '');
  return world.ask(method, `${path.replaceAll('{id}', id)}${query}`, {
    token,
    microversion: 'accelerator 2.3',
    ...(needsBody.includes(method) && { body: bodyFor(method, path, arq, servers[project]) }),
  });
}

function bodyFor(method: string, path: string, arq: string, { instance }: Server): unknown {
  if (path.includes('/quotas/')) return { limits: { FPGA: 1000 } };
  if (!path.startsWith('/v2/accelerator_requests')) return 'neither this nor that';
  if (method === 'POST') return { device_profile_name: 'fpga' };
  return {
    [arq]: bindPatch({
      hostname: 'cmp1',
      device_rp_uuid: providerUuid('cmp1_FakeDevice'),
      instance_uuid: instance,
    }),
  };
}

type Called = Awaited<ReturnType<typeof call>>;

function outcomeOf({ status, text, json }: Called, project: Project): string {
  expect(status).toBeLessThan(500);
  if (status === 403) return text.includes('service token') ? 's' : 'n';
  if (status === 404 && text.includes('ccelerator request')) return '-';
  const of = (each: Server) => Object.values(each).some((id) => text.includes(id));
  if (of(servers[project])) return 'y';
  if (status === 201 || status === 204) return 'y';
  const isOfProjects = ['arqs', 'history', 'usage', 'assignments'].some((name) =>
    Object.hasOwn(json ?? {}, name),
  );
  return isOfProjects || Object.values(servers).some(of) ? '-' : 'h';
}
