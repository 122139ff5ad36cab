// The operator's API of quotas: who may, what it refuses, and what Nova gets at the limit.

import { beforeAll, describe, expect, it } from 'vitest';
import { ServiceUnavailable } from '#core/clients/http.ts';
import type { DeviceProfile } from '#core/domain/profile/device-profile.ts';
import { checkProjects } from '#functions/operator/projects.ts';
import { idOf } from '#local/openstack/keystone/catalog.ts';
import { createProject } from '#test/api/operators-api.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld, type World } from '#test/support/world.ts';

const path = '/operator/v1/quotas';
const world = perFile(startWorld);
let project: string;

beforeAll(async () => {
  const groups = { two: { 'resources:FPGA': '2' }, vgpu: { 'resources:VGPU': '1' } };
  for (const [name, group] of Object.entries(groups)) {
    await world.createProfile(name, group);
  }
  await create('two');
  const [quota] = (await world.ask('GET', '/v2/accelerator_requests')).json.arqs;
  expect(quota).toBeDefined();
  project = (await world.deps.listings.arqs(page, {}))[0]?.projectId ?? '';
});

interface Listed {
  readonly quotas: readonly { readonly project_id: string }[];
  readonly quotas_links?: readonly { readonly href: string }[];
}

const page = { limit: 1, sortKey: 'uuid', sortDir: 'asc' } as const;
const set = (limits: unknown, of = project) =>
  world.ask('PUT', `${path}/${of}`, { body: { limits } });
const create = (name: string) =>
  world.asNova('POST', '/v2/accelerator_requests', { device_profile_name: name });
const errorOf = async (answer: ReturnType<World['ask']>) => {
  const { status, json } = await answer;
  return [status, json?.error];
};

describe('a quota', () => {
  it('is set, is shown with the use, and refuses a POST with 403 and a sentence', async () => {
    const shown = {
      project_id: project,
      limits: { FPGA: 3 },
      in_use: { FPGA: 2 },
      updated_at: expect.stringMatching(/\+00:00$/),
    };
    expect(await set({ fpga: 3, VGPU: null })).toMatchObject({ status: 200, json: shown });
    expect(await errorOf(create('two'))).toEqual([
      403,
      `Quota of FPGA exceeded for project ${project}: limit 3, in use 2, wanted 2. ` +
        'Delete servers with accelerators, or ask an administrator for a higher quota.',
    ]);
    expect((await create('vgpu')).status).toBe(201);
    const all = { ...shown, limits: { FPGA: 3, VGPU: null }, in_use: { FPGA: 2, VGPU: 1 } };
    const own = { token: 'demo-token' };
    expect((await world.ask('GET', `${path}/${project}`, own)).json).toEqual(all);
    expect((await world.ask('GET', path)).json).toEqual({ quotas: [shown] });
  });

  it('that is deleted no longer limits, and is 404 then', async () => {
    await set({ FPGA: 2 });
    const remove = () => world.ask('DELETE', `${path}/${project}`);
    expect((await remove()).status).toBe(204);
    expect((await create('two')).status).toBe(201);
    expect(await errorOf(remove())).toEqual([404, `Project ${project} has no quota.`]);
    const left = await world.ask('GET', `${path}/${project}`);
    expect(left.json).toMatchObject({ limits: { FPGA: null }, updated_at: null });
  });

  it('of another project is not shown to a tenant, whether or not there is one', async () => {
    const elsewhere = idOf('project', 'alt');
    await set({ FPGA: 1 }, elsewhere);
    for (const of of [elsewhere, 'nowhere']) {
      const answer = await errorOf(world.ask('GET', `${path}/${of}`, { token: 'demo-token' }));
      expect(answer).toEqual([403, 'The quota of another project needs one of the roles admin.']);
    }
    expect((await world.ask('GET', `${path}/${elsewhere}`)).status).toBe(200);
  });

  it.each([
    [{ GPU: 1 }, /^limits: resource class GPU is neither one of FPGA, .* nor CUSTOM_\*\.$/],
    [{ FPGA: -1 }, 'limits.FPGA: must be an integer from 0 to 1000000, or null for no limit.'],
    [{ FPGA: 1.5 }, 'limits.FPGA: must be an integer from 0 to 1000000, or null for no limit.'],
    [{ FPGA: '4' }, 'limits.FPGA: must be an integer from 0 to 1000000, or null for no limit.'],
    [{ FPGA: 1_000_001 }, /^limits\.FPGA: must be an integer/],
    [{ FPGA: 1, fpga: 2 }, 'limits: duplicate resource class FPGA.'],
    [[4], /^limits: /],
    [undefined, /^limits: /],
  ])('with limits %j is refused, and nothing changes', async (limits, sentence) => {
    const before = (await world.ask('GET', path)).json;
    const [status, error] = await errorOf(set(limits));
    expect([status, error]).toEqual([400, expect.stringMatching(sentence)]);
    expect((await world.ask('GET', path)).json).toEqual(before);
  });

  it('of a project whose id cannot be one is refused', async () => {
    const wrong = [400, "A project id holds letters, digits, '-' and '_', at most 64 of them."];
    expect(await errorOf(world.ask('GET', `${path}/a%20b`))).toEqual(wrong);
    expect(await errorOf(world.ask('DELETE', `${path}/${'a'.repeat(65)}`))).toEqual(wrong);
  });
});

describe('a project', () => {
  const demo = idOf('project', 'demo');
  const groups = [{ 'resources:FPGA': '1' }];
  const publish = (projects: readonly string[]) =>
    world.ask('PUT', '/operator/v1/device_profiles/two', {
      body: { name: 'two', groups, projects },
    });

  // An id in upper case, a name, a domain, which is a project in Keystone, and no id at all.
  it.each(['demo', demo.toUpperCase(), 'default', `${demo}0`, '0'.repeat(32), 'a b'])(
    'that Keystone does not have by the id %j is refused with the sentence of Nova',
    async (id) => {
      const stored = (await world.ask('GET', path)).text;
      const wrong = [400, `Project ID ${id} is not a valid project.`];
      expect(await errorOf(set({ FPGA: 1 }, encodeURIComponent(id)))).toEqual(wrong);
      if (id !== 'a b') {
        expect(await errorOf(world.ask('GET', `${path}/${id}`))).toEqual(wrong);
        expect(await errorOf(publish([demo, id]))).toEqual(wrong);
      }
      expect((await world.ask('GET', path)).text).toBe(stored);
    },
  );

  it('that has gone from Keystone stays in a profile that names it', async () => {
    const profile = await world.deps.store.profiles.byName('two');
    const gone = { ...(profile as DeviceProfile), projects: ['gone'], revision: 2 };
    await world.deps.store.profiles.update(profile as DeviceProfile, gone);
    expect((await publish(['gone', demo])).status).toBe(200);
    expect((await publish([demo])).status).toBe(200);
    expect(await errorOf(publish(['gone']))).toEqual([
      400,
      'Project ID gone is not a valid project.',
    ]);
  });

  it('is not taken while Keystone cannot be asked', async () => {
    const alt = idOf('project', 'alt');
    await world.ask('DELETE', `${path}/${alt}`);
    const away = { ...world.deps.clients.keystone, hasProject: fails };
    await expect(
      checkProjects({ clients: { ...world.deps.clients, keystone: away } }, [alt]),
    ).rejects.toThrow(ServiceUnavailable);
  });
});

async function fails(): Promise<never> {
  throw new ServiceUnavailable('identity', 'http://keystone.test', 'no answer', true);
}

describe('the list of quotas', () => {
  it('has pages in the order of the project ids', async () => {
    const names = ['p3', 'p1', 'p2'];
    const made = await Promise.all(names.map((name) => createProject(world.urls.keystone, name)));
    for (const of of made) await set({ FPGA: 1 }, of);
    const ids: string[] = [];
    let next: string | undefined = `${path}?limit=2`;
    while (next) {
      const json = JSON.parse((await world.ask('GET', next)).text) as Listed;
      ids.push(...json.quotas.map(({ project_id }) => project_id));
      const { pathname, search } = new URL(json.quotas_links?.[0]?.href ?? 'http://end');
      next = search && `${pathname}${search}`;
    }
    expect(ids).toEqual([...ids].sort());
    expect(ids).toEqual(expect.arrayContaining(made));
  });

  it('refuses an unknown parameter, and a marker that is no quota', async () => {
    expect((await world.ask('GET', `${path}?project=p1`)).status).toBe(400);
    expect((await world.ask('GET', `${path}?marker=nowhere`)).status).toBe(400);
  });
});
