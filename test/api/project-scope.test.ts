// What each persona sees and does of its own project and of another one, route by route. The
// expected answers are written out, not computed from the table under test.

import { beforeAll, describe, expect, it } from 'vitest';
import { providerUuid } from '#core/domain/ids.ts';
import { measureFleet } from '#core/operations/fleet/measure-fleet.ts';
import { allHosts } from '#core/operations/placement/restore-tree.ts';
import { routes } from '#functions/routes.ts';
import { idOf } from '#local/openstack/keystone/catalog.ts';
import { bindPatch } from '#test/support/bind-patch.ts';
import { aDevice, applySettled, aReport } from '#test/support/reports.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

/** In the order of the columns below; none has a service token. */
const personas = {
  reader: { token: 'reader-token', project: 'demo' },
  member: { token: 'demo-token', project: 'demo' },
  manager: { token: 'manager-token', project: 'demo' },
  admin: { token: 'admin-token', project: 'admin' },
  service: { token: 'telemetry-token', project: 'service' },
} as const;
type Persona = keyof typeof personas;
type Project = 'demo' | 'alt' | 'admin' | 'service';

// Own project, then another one. y: shown, or done. -: hidden. n: the policy refuses it.
// s: it asks for a service token. h: the answer shows hardware and profiles, and nothing of any
// project.
const matrix: Readonly<Record<string, string>> = {
  //                                          reader … service
  'GET /v2/device_profiles': 'hh hh hh hh hh',
  'POST /v2/device_profiles': 'nn nn nn hh nn',
  'DELETE /v2/device_profiles': 'nn nn nn hh nn',
  'GET /v2/device_profiles/{id}': 'hh hh hh hh hh',
  'DELETE /v2/device_profiles/{id}': 'nn nn nn hh nn',
  'GET /v2/accelerator_requests': 'y- y- y- yy y-',
  // An ARQ is made in the project of the token, whatever exists.
  'POST /v2/accelerator_requests': 'nn yy yy yy yy',
  'PATCH /v2/accelerator_requests': 'nn ss ss ss ss',
  'DELETE /v2/accelerator_requests': 'nn y- y- yy y-',
  'GET /v2/accelerator_requests/{id}': 'y- y- y- yy y-',
  'PATCH /v2/accelerator_requests/{id}': 'nn ss ss ss ss',
  'DELETE /v2/accelerator_requests/{id}': 'nn y- y- yy y-',
  'GET /v2/devices': 'nn nn hh hh nn',
  'GET /v2/devices/{id}': 'nn nn hh hh nn',
  'PATCH /v2/devices/{id}': 'nn nn nn hh nn',
  'POST /v2/devices/{id}/enable': 'nn nn nn hh nn',
  'POST /v2/devices/{id}/disable': 'nn nn nn hh nn',
  'POST /v2/devices/{id}/force_release': 'nn nn nn hh nn',
  'GET /v2/deployables': 'nn nn hh hh nn',
  'GET /v2/deployables/{id}': 'nn nn hh hh nn',
  'PATCH /v2/deployables/{id}': 'nn nn nn hh nn',
  'PATCH /v2/deployables/{id}/program': 'nn nn nn hh nn',
  'PATCH /v2/deployables/{id}/program/{id}': 'nn nn nn hh nn',
  'GET /v2/attributes': 'nn nn hh hh nn',
  'POST /v2/attributes': 'nn nn nn hh nn',
  'GET /v2/attributes/{id}': 'nn nn hh hh nn',
  'DELETE /v2/attributes/{id}': 'nn nn nn hh nn',
  'GET /operator/v1/history': 'y- y- y- yy y-',
  'GET /operator/v1/usage': 'y- y- y- yy y-',
  'GET /operator/v1/aggregates': 'nn nn nn hh nn',
  'GET /operator/v1/binds': 'nn nn nn hh nn',
  'GET /operator/v1/metrics': 'nn nn nn yy nn',
  'GET /operator/v1/report': 'nn nn nn yy nn',
  'GET /operator/v1/hosts': 'nn nn nn hh nn',
  'GET /operator/v1/hosts/{id}': 'nn nn nn hh nn',
  'DELETE /operator/v1/hosts/{id}': 'nn nn nn hh nn',
  'GET /operator/v1/hosts/{id}/topology': 'nn nn nn hh nn',
  'POST /operator/v1/hosts/{id}/rediscover': 'nn nn nn hh nn',
  'POST /operator/v1/hosts/{id}/drain': 'nn nn nn hh nn',
  'POST /operator/v1/hosts/{id}/resume': 'nn nn nn hh nn',
  'POST /operator/v1/hosts/{id}/settle': 'nn nn nn hh nn',
  'GET /operator/v1/assignments': 'y- y- y- yy y-',
  'GET /operator/v1/capacity': 'hh hh hh hh hh',
  'GET /operator/v1/names': 'hh hh hh hh hh',
  'GET /operator/v1/incidents': 'nn nn nn hh nn',
  'POST /operator/v1/reconcile': 'nn nn nn hh nn',
  'POST /operator/v1/reap': 'nn nn nn hh nn',
  'POST /operator/v1/devices/{id}/grant': 'nn nn nn hh nn',
  'POST /operator/v1/devices/{id}/reset': 'nn nn nn hh nn',
  'POST /operator/v1/devices/{id}/revoke': 'nn nn nn hh nn',
  'GET /operator/v1/holds': 'nn nn nn hh nn',
  'POST /operator/v1/holds': 'nn nn nn hh nn',
  'GET /operator/v1/holds/{id}': 'nn nn nn hh nn',
  'DELETE /operator/v1/holds/{id}': 'nn nn nn hh nn',
  'GET /operator/v1/firmware': 'nn nn nn hh nn',
  'GET /operator/v1/firmware/images/{id}': 'nn nn nn hh nn',
  'GET /operator/v1/firmware/baselines': 'nn nn nn hh nn',
  'PUT /operator/v1/firmware/baselines/{id}': 'nn nn nn hh nn',
  'DELETE /operator/v1/firmware/baselines/{id}': 'nn nn nn hh nn',
  'GET /operator/v1/device_profiles': 'nn nn nn hh nn',
  'GET /operator/v1/device_profiles/{id}': 'nn nn nn hh nn',
  'PUT /operator/v1/device_profiles/{id}': 'nn nn nn hh nn',
  'POST /operator/v1/device_profiles/{id}/enable': 'nn nn nn hh nn',
  'POST /operator/v1/device_profiles/{id}/disable': 'nn nn nn hh nn',
  'GET /operator/v1/quotas': 'nn nn nn yy nn',
  'GET /operator/v1/quotas/{id}': 'yn yn yn yy yn',
  'PUT /operator/v1/quotas/{id}': 'nn nn nn yy nn',
  'DELETE /operator/v1/quotas/{id}': 'nn nn nn yy nn',
};

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

it('has a row for every route that is not open to all, and for no other', () => {
  const closed = routes.filter(({ policy }) => policy !== undefined);
  const named = closed.map(({ method, path }) => `${method} ${path}`);
  expect(Object.keys(matrix).sort()).toEqual(named.sort());
});

it('has the servers of all projects in the history', async () => {
  const claims = async () => {
    const { json } = await world.ask('GET', '/operator/v1/history?kind=handle.claimed');
    return json.history.length;
  };
  await eventually(claims).toBe(4);
});

const cells = Object.entries(matrix).flatMap(([route, row]) =>
  row.split(' ').flatMap((pair, index) => {
    const persona = Object.keys(personas)[index] as Persona;
    const own = personas[persona].project;
    return [[route, persona, own, pair[0]] as const, [route, persona, 'alt', pair[1]] as const];
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

async function call(method: string, path: string, project: Project, persona: Persona) {
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
