// Whose ARQs a request may name beside Nova's service token, which speaks for the instance alone.

import { beforeAll, describe, expect, it } from 'vitest';
import { providerUuid } from '#core/domain/ids.ts';
import { deleteArqsOfInstance } from '#core/operations/release/delete-arqs.ts';
import { refuseDeleteForOtherProject } from '#core/operations/service-token.ts';
import { idOf } from '#local/openstack/keystone/catalog.ts';
import { withClients } from '#test/support/deps.ts';
import { aDevice, applySettled, aReport } from '#test/support/reports.ts';
import { everythingStored } from '#test/support/stored/tables.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { type Answer, startWorld } from '#test/support/world.ts';

const arqs = '/v2/accelerator_requests';
const world = perFile(() => startWorld({ settings: { CYBORG_ATTACH_TYPES: 'TEST_PCI' } }));
let flavor: string | undefined;
let instances = 0;

beforeAll(async () => {
  await world.startComputeNode('cmp1');
  await applySettled(world.deps, 'cmp1', aReport([aDevice({ handles: 16 })]), Date.now());
  const plain = { flavor: { name: 'plain', vcpus: 1, ram: 64, disk: 1 } };
  flavor = (await askNova('admin-token', '/flavors', plain)).flavor?.id;
  await world.createProfile('fpga', { 'resources:FPGA': '1' });
});

/** Sends the request as Nova does for a user. */
function asNova(token: string, method: string, path: string, body?: unknown): Promise<Answer> {
  return world.ask(method, path, { token, serviceToken: 'nova-token', body });
}

async function create(token: string): Promise<string> {
  return (await world.createArqs('fpga', token))[0];
}

function newInstance(): string {
  instances += 1;
  return `77cc0000-0000-4000-8000-${String(instances).padStart(12, '0')}`;
}

function bind(token: string, names: readonly string[], instance: string): Promise<Answer> {
  return world.bindArqs(names, { provider: providerUuid('cmp1_FakeDevice'), instance }, token);
}

type Created = Readonly<Partial<Record<'server' | 'flavor', { readonly id: string }>>>;

async function askNova(token: string, path: string, body: unknown): Promise<Created> {
  const response = await fetch(`${world.urls.nova}${path}`, {
    method: 'POST',
    headers: { 'X-Auth-Token': token, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  return (await response.json()) as Created;
}

/** Nova has the instance in the project of the token. */
async function boot(token: string): Promise<string> {
  const { server } = await askNova(token, '/servers', { server: { name: 's', flavorRef: flavor } });
  return server?.id ?? '';
}

const unchanged = async (request: () => Promise<Answer>) => {
  const before = await everythingStored();
  const answer = await request();
  expect(await everythingStored()).toEqual(before);
  return answer;
};

describe("one tenant's token with Nova's service token", () => {
  it("binds no ARQ of another tenant, alone or among the tenant's own", async () => {
    const [own, other] = [await create('demo-token'), await create('alt-token')];
    for (const named of [[other], [own, other]]) {
      const { status, text } = await unchanged(() => bind('demo-token', named, newInstance()));
      expect([status, text.includes(other), text.includes(own)]).toEqual([404, true, false]);
    }
    expect((await bind('demo-token', [own], newInstance())).status).toBe(202);
  });

  it('unbinds, deletes and reads no ARQ of another tenant', async () => {
    const arq = await create('alt-token');
    expect((await bind('alt-token', [arq], newInstance())).status).toBe(202);
    const unbind = { [arq]: [{ op: 'remove', path: '/hostname' }] };
    for (const [method, path, body] of [
      ['PATCH', arqs, unbind],
      ['DELETE', `${arqs}?arqs=${arq}`],
      ['DELETE', `${arqs}/${arq}`],
      ['GET', `${arqs}/${arq}`],
    ] as const) {
      const answer = await unchanged(() => asNova('demo-token', method, path, body));
      expect([method, answer.status]).toEqual([method, 404]);
    }
  });
});

describe("a service token with another project's token", () => {
  const remove = (token: string, instance: string) =>
    asNova(token, 'DELETE', `${arqs}?instance=${instance}`);

  it('deletes no ARQs of a server on which Nova does nothing', async () => {
    const [arq, instance] = [await create('alt-token'), await boot('alt-token')];
    expect((await bind('alt-token', [arq], instance)).status).toBe(202);
    const server = () => world.deps.clients.nova.server(instance);
    await eventually(server).toMatchObject({ host: 'cmp1', taskState: null });
    const refused = await unchanged(() => remove('demo-token', instance));
    expect([refused.status, refused.json.error]).toEqual([
      403,
      `Instance ${instance} is not an instance of this project.`,
    ]);
    expect((await remove('alt-token', instance)).status).toBe(204);
  });

  it('deletes the ARQs of a server that Nova does not have', async () => {
    const [arq, instance] = [await create('alt-token'), newInstance()];
    expect((await bind('alt-token', [arq], instance)).status).toBe(202);
    expect((await remove('demo-token', instance)).status).toBe(204);
    expect((await asNova('alt-token', 'GET', `${arqs}/${arq}`)).status).toBe(404);
  });

  it.each([
    ['while Nova deletes the server', { taskState: 'deleting', host: 'cmp1' }, 204],
    ['of a server on no host', { taskState: null, host: null }, 204],
    ['of a server that runs', { taskState: null, host: 'cmp1' }, 403],
  ])('%s: %j is answered %d', async (_title, state, status) => {
    const server = async () => ({ projectId: 'alt', ...state });
    const deps = withClients(world.deps, { nova: { server } });
    const foreign = { projectId: 'demo', roles: ['member'], hasServiceToken: true };
    const removal = refuseDeleteForOtherProject(
      deps,
      { ...foreign, requestId: '', userId: 'u' },
      'x',
    );
    const outcome = await removal.then(
      () => 204,
      () => 403,
    );
    expect(outcome).toBe(status);
  });

  it("the owner's delete does not ask Nova, which may be away", async () => {
    const [arq, instance] = [await create('demo-token'), newInstance()];
    expect((await bind('demo-token', [arq], instance)).status).toBe(202);
    const server = () => Promise.reject(new Error('Nova is asked.'));
    const deps = withClients(world.deps, { nova: { server } });
    const demo = idOf('project', 'demo');
    const caller = { projectId: demo, roles: ['member'], hasServiceToken: true };
    const owner = { ...caller, requestId: '', userId: 'u' };
    expect(await deleteArqsOfInstance(deps, owner, instance)).toEqual([arq]);
  });
});

describe("an admin's token with Nova's service token, as in evacuate and unshelve", () => {
  it("binds the admin's ARQ to a tenant's instance, whose project has it then", async () => {
    const [arq, instance] = [await create('admin-token'), await boot('demo-token')];
    expect((await bind('admin-token', [arq], instance)).status).toBe(202);
    const binding = await world.deps.store.arqs.binding(instance);
    expect(binding?.projectId).toBe(idOf('project', 'demo'));
    // The same PATCH again, and the tenant's own calls later.
    expect((await bind('admin-token', [arq], instance)).status).toBe(202);
    const listed = await asNova('demo-token', 'GET', `${arqs}?instance=${instance}`);
    expect(listed.json.arqs).toMatchObject([{ uuid: arq, state: 'Bound' }]);
    const deleted = await asNova('demo-token', 'DELETE', `${arqs}?instance=${instance}`);
    expect(deleted.status).toBe(204);
    expect((await asNova('demo-token', 'GET', `${arqs}/${arq}`)).status).toBe(404);
  });

  it("binds the tenant's ARQ to the tenant's instance", async () => {
    const [arq, instance] = [await create('demo-token'), await boot('demo-token')];
    expect((await bind('admin-token', [arq], instance)).status).toBe(202);
  });

  it("refuses an ARQ of one tenant for another tenant's instance, and names both projects", async () => {
    const [arq, instance] = [await create('alt-token'), await boot('demo-token')];
    const { status, json } = await unchanged(() => bind('admin-token', [arq], instance));
    const [demo, alt] = [idOf('project', 'demo'), idOf('project', 'alt')];
    expect([status, json.error]).toEqual([
      400,
      `ARQ ${arq} is of project ${alt}, and instance ${instance} is of project ${demo}.`,
    ]);
  });
});
