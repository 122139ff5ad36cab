// A profile with alternatives: Nova is given the first that fits, boots at once share what there
// is, and the provider of a bind shows which alternative its server got.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { ServiceUnavailable } from '#core/clients/http.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { countedMs } from '#core/domain/profile/promises.ts';
import { bindArqs } from '#core/operations/bind/bind-arqs.ts';
import { giveAlternative } from '#core/operations/profiles/give-alternative.ts';
import { deleteQuota, setQuota } from '#core/operations/quotas/set-quota.ts';
import { bindPatch } from '#test/support/bind-patch.ts';
import { aCaller, nextInstance } from '#test/support/builders.ts';
import { withClients } from '#test/support/deps.ts';
import { aDevice, aHandle } from '#test/support/reports.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const world = perFile(() => startWorld({ consumers: true }));
const fast = { 'resources:FPGA': '1' };
const slow = { 'resources:CUSTOM_SLOW': '1' };
const [fastProvider, slowProvider] = [providerUuid('cmp1_Fast'), providerUuid('cmp2_Slow')];

function device(
  name: string,
  resourceClass: string,
  handles: number,
  traits: string[] = [],
): ReportedDevice {
  const attach_handles = Array.from({ length: handles }, (_, index) => aHandle(index + 1));
  const offers = { resource_class: resourceClass, traits, attach_handles };
  return aDevice({ provider_suffix: name, offers });
}

beforeAll(async () => {
  for (const host of ['cmp1', 'cmp2']) await world.startComputeNode(host);
  await world.report('cmp1', [device('Fast', 'FPGA', 8, ['CUSTOM_COMMON'])]);
  await world.report('cmp2', [device('Slow', 'CUSTOM_SLOW', 12)]);
  for (const provider of [fastProvider, slowProvider]) {
    await eventually(async () => {
      const held = await world.deps.clients.placement.getInventories(provider);
      return Object.keys(held?.inventories ?? {});
    }).toHaveLength(1);
  }
  const flavor = { id: 'f', name: 'f', vcpus: 1, ram: 64, disk: 1 };
  await askNova('POST', '/flavors', { flavor }, 'admin-token');
});

/** Each test has a profile of its own, and so promises of its own. */
let profile: string;
let count = 0;
beforeEach(async () => {
  count += 1;
  profile = `either-${count}`;
  await world.createProfile(profile, fast);
  await put(profile, { groups: [fast], alternatives: [[slow]] });
});

function put(name: string, body: object) {
  return world.ask('PUT', `/operator/v1/device_profiles/${name}`, { body: { name, ...body } });
}

async function askNova(method: string, path: string, body?: unknown, token = 'demo-token') {
  const answer = await fetch(`${world.urls.nova}${path}`, {
    method,
    headers: { 'X-Auth-Token': token, 'OpenStack-API-Version': 'compute 2.82' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return answer.status === 204 ? undefined : await answer.json();
}

const serverBody = z.object({ server: z.object({ id: z.string(), status: z.string() }) });
const createdBody = z.object({ server: z.object({ id: z.string() }) });

async function boot(): Promise<string> {
  const server = { name: 'vm', flavorRef: 'f', networks: 'none' };
  return createdBody.parse(await askNova('POST', '/servers', { server })).server.id;
}

async function statusOf(server: string): Promise<string> {
  return serverBody.parse(await askNova('GET', `/servers/${server}`)).server.status;
}

async function settled(servers: readonly string[]): Promise<readonly string[]> {
  const statuses = () => Promise.all(servers.map(statusOf));
  await eventually(statuses).not.toContain('BUILD');
  return statuses();
}

/** The classes that Nova is given, by group. */
async function given(name = profile): Promise<readonly string[]> {
  const { json } = await world.asNova('GET', `/v2/device_profiles?name=${name}`);
  return (json.device_profiles[0]?.groups ?? []).map((group) => Object.keys(group)[0] ?? '');
}

const [fastFirst, slowFirst] = [Object.keys(fast), Object.keys(slow)];

describe('boots of servers with alternatives', () => {
  it('share all that there is, and none fails while one is free', async () => {
    const extra_specs = { 'accel:device_profile': profile };
    await askNova('POST', '/flavors/f/os-extra_specs', { extra_specs }, 'admin-token');
    const servers = await Promise.all(Array.from({ length: 20 }, boot));
    expect(new Set(await settled(servers))).toEqual(new Set(['ACTIVE']));
    const hosts = await Promise.all(
      servers.map(async (server) => (await world.arqsOf(server)).json.arqs[0]?.hostname),
    );
    expect(hosts.filter((host) => host === 'cmp1')).toHaveLength(8);
    expect(hosts.filter((host) => host === 'cmp2')).toHaveLength(12);

    expect(await settled([await boot()])).toEqual(['ERROR']);
    for (const server of servers) await askNova('DELETE', `/servers/${server}`);
    const left = async () => {
      const { placement } = world.deps.clients;
      const held = [fastProvider, slowProvider].map((each) => placement.allocationsOf(each));
      return (await Promise.all(held)).flatMap((each) => Object.keys(each));
    };
    await eventually(left).toEqual([]);
  });
});

describe('what a GET by name shows', () => {
  it('is the first alternative to all but Nova, and the first with room to Nova', async () => {
    for (let number = 1; number <= 8; number += 1) expect(await given()).toEqual(fastFirst);
    expect(await given()).toEqual(slowFirst);
    const { json } = await world.ask('GET', `/v2/device_profiles?name=${profile}`);
    expect(json.device_profiles[0]?.groups).toEqual([fast]);
    expect((await world.ask('GET', `/v2/device_profiles/${profile}`)).text).not.toContain('SLOW');
  });

  it('counts a promise until its server is bound, or for more than a minute', async () => {
    const stored = await world.deps.store.profiles.byName(profile);
    if (!stored) throw new Error('The profile is not stored.');
    const now = Date.now();
    const classAt = async (milliseconds: number) => {
      const deps = { ...world.deps, clock: () => now + milliseconds };
      const [group = {}] = await giveAlternative(deps, stored, 'p');
      return Object.keys(group);
    };
    for (let number = 1; number <= 8; number += 1) expect(await classAt(0)).toEqual(fastFirst);
    expect(await classAt(countedMs)).toEqual(slowFirst);

    const instance = nextInstance();
    await world.createBound(profile, { provider: fastProvider, instance });
    await world.deleteArqsOf(instance);
    // Placement has counted no server here, so all eight are free but for seven promises.
    expect(await classAt(2 * countedMs)).toEqual(fastFirst);
    expect(await classAt(3 * countedMs)).toEqual(slowFirst);
    expect(await classAt(80_000)).toEqual(fastFirst);
  });

  it('is another list for those that compete for the same devices', async () => {
    const name = `competing-${count}`;
    const preferring = { ...fast, 'accel:preferred:trait:CUSTOM_COMMON': 'required' };
    await world.createProfile(name, fast);
    await put(name, { groups: [preferring], alternatives: [[slow]] });
    for (let number = 1; number <= 8; number += 1) expect(await given(name)).toEqual(fastFirst);
    for (let number = 1; number <= 12; number += 1) expect(await given(name)).toEqual(slowFirst);
  });

  it('waits for one count of a slow Placement, and is the first of a disabled profile', async () => {
    const stored = await world.deps.store.profiles.byName(profile);
    if (!stored) throw new Error('The profile is not stored.');
    let now = Date.now();
    let calls = 0;
    const candidates: typeof world.deps.clients.placement.candidates = async (query, schema) => {
      calls += 1;
      now += 2 * countedMs;
      return world.deps.clients.placement.candidates(query, schema);
    };
    const deps = { ...withClients(world.deps, { placement: { candidates } }), clock: () => now };
    expect(await giveAlternative(deps, stored, 'p')).toEqual([fast]);
    expect(calls).toBe(2);
    const disabled = { at: '', by: '', reason: 'worn out' };
    await giveAlternative(deps, { ...stored, disabled }, 'p');
    expect(calls).toBe(2);
  });

  it('is of the new revision at once', async () => {
    expect(await given()).toEqual(fastFirst);
    await put(profile, { groups: [slow], alternatives: [[fast]] });
    expect(await given()).toEqual(slowFirst);
    await put(profile, { groups: [slow], alternatives: null });
    expect(await given()).toEqual(slowFirst);
  });

  it.each([
    ['with a preferred trait', 'COMMON', { 'trait:CUSTOM_COMMON': 'required' }],
    ['without one that no device has', 'RARE', {}],
  ])('is %s', async (_case, trait, added) => {
    const name = `preferred-${count}`;
    const key = `accel:preferred:trait:CUSTOM_${trait}`;
    await world.createProfile(name, { ...fast, [key]: 'required' });
    const { json } = await world.asNova('GET', `/v2/device_profiles?name=${name}`);
    expect(json.device_profiles[0]?.groups).toEqual([{ ...fast, ...added }]);
    const { json: shown } = await world.ask('GET', `/v2/device_profiles/${name}`);
    expect(JSON.stringify(shown)).toContain(key);
  });

  it('is the first where Placement cannot be asked', async () => {
    const stored = await world.deps.store.profiles.byName(profile);
    const candidates = () =>
      Promise.reject(new ServiceUnavailable('placement', 'http://placement', 'away', true));
    const deps = withClients(world.deps, { placement: { candidates } });
    expect(stored && (await giveAlternative(deps, stored, 'p'))).toEqual([fast]);
    // What an earlier count has left is given.
    for (let number = 1; number <= 8; number += 1) expect(await given()).toEqual(fastFirst);
    const later = { ...deps, clock: () => Date.now() + countedMs };
    expect(stored && (await giveAlternative(later, stored, 'p'))).toEqual([slow]);
  });
});

describe('a bind', () => {
  it.each([
    ['first', fastProvider, 'cmp1', 'FPGA'],
    ['second', slowProvider, 'cmp2', 'CUSTOM_SLOW'],
  ])('to the %s alternative has its class', async (_case, provider, host, resourceClass) => {
    const instance = nextInstance();
    const [uuid] = await world.createBound(profile, { provider, instance, host });
    const arq = (await world.deps.store.arqs.byUuids([uuid])).get(uuid);
    expect(arq?.group).toEqual({ [`resources:${resourceClass}`]: '1' });
    await world.deleteArqsOf(instance);
  });

  it('to providers of no alternative, or of two, is refused', async () => {
    const name = `both-${count}`;
    await world.createProfile(name, fast, fast);
    await put(name, { groups: [fast, fast], alternatives: [[slow, slow]] });
    await world.report('cmp1', [
      device('Fast', 'FPGA', 8),
      { ...device('Near', 'CUSTOM_SLOW', 1), address: '0000:0d:00.0' },
      { ...device('Other', 'CUSTOM_OTHER', 1), address: '0000:0e:00.0' },
    ]);
    const [first, second = ''] = await world.createArqs(name);
    const instance = nextInstance();
    const patch = (provider: string) =>
      Object.entries({ hostname: 'cmp1', device_rp_uuid: provider, instance_uuid: instance }).map(
        ([key, value]) => ({ op: 'add', path: `/${key}`, value }),
      );
    const bind = (one: string, other: string) =>
      world.asNova('PATCH', '/v2/accelerator_requests', {
        [first]: patch(providerUuid(`cmp1_${one}`)),
        [second]: patch(providerUuid(`cmp1_${other}`)),
      });
    for (const other of ['Near', 'Other']) {
      const { status, text } = await bind('Fast', other);
      expect([status, text]).toEqual([
        400,
        expect.stringContaining('No alternative of the device profile fits.'),
      ]);
    }
    expect(await bind('Fast', 'Fast')).toMatchObject({ status: 202 });
    await world.deleteArqsOf(instance);
  });
});

describe('binds of ARQs of several requests', () => {
  it('may each have another alternative', async () => {
    await world.report('cmp1', [
      device('Fast', 'FPGA', 8, ['CUSTOM_COMMON']),
      { ...device('Near', 'CUSTOM_SLOW', 1), address: '0000:0d:00.0' },
    ]);
    const [one] = await world.createArqs(profile);
    const [other] = await world.createArqs(profile);
    const instance = nextInstance();
    const target = (name: string) => ({
      hostname: 'cmp1',
      device_rp_uuid: providerUuid(`cmp1_${name}`),
      instance_uuid: instance,
    });
    const bound = await world.asNova('PATCH', '/v2/accelerator_requests', {
      [one]: bindPatch(target('Fast')),
      [other]: bindPatch(target('Near')),
    });
    expect([bound.status, bound.text]).toEqual([202, '']);
    await world.deleteArqsOf(instance);
  });

  it('leave a row that does not grow', async () => {
    const stored = await world.deps.store.profiles.byName(profile);
    if (!stored) throw new Error('The profile is not stored.');
    const { promises } = world.deps.store;
    const promised = { index: 0, competing: [0] };
    for (let number = 0; number < 20; number += 1) await promises.settle(stored, promised);
    expect(await promises.of(stored)).toEqual({ countedAt: 0, alternatives: [], marks: [] });
    await given();
    for (let number = 0; number < 20; number += 1) await promises.settle(stored, promised);
    const [first] = (await promises.of(stored)).alternatives;
    expect(first).toMatchObject({ given: 1, closed: 1 });
  });
});

describe('quotas', () => {
  let project: string;
  beforeAll(async () => {
    await world.createProfile('whose', fast);
    const [uuid] = await world.createArqs('whose');
    project = (await world.deps.store.arqs.byUuids([uuid])).get(uuid)?.projectId ?? '';
    await world.asNova('DELETE', `/v2/accelerator_requests?arqs=${uuid}`);
  });

  it('decide which alternative Nova is given, and count what was bound', async () => {
    await setQuota(world.deps, project, { FPGA: 1, CUSTOM_SLOW: 1 });
    const left = async () => (await world.deps.store.quotas.byProject(project))?.unitsLeft;
    const [one, other] = [nextInstance(), nextInstance()];
    expect(await given()).toEqual(fastFirst);
    await world.createBound(profile, { provider: fastProvider, instance: one });
    expect(await left()).toEqual({ FPGA: 0, CUSTOM_SLOW: 1 });
    expect(await given()).toEqual(slowFirst);
    // It counts under the second class from its creation on, since the first is used up.
    const [arq] = await world.createArqs(profile);
    expect(await left()).toEqual({ FPGA: 0, CUSTOM_SLOW: 0 });
    const refused = await world.bindArqs(arq, { provider: fastProvider, instance: other });
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('FPGA')]);
    const target = { provider: slowProvider, instance: other, host: 'cmp2' };
    expect(await world.bindArqs(arq, target)).toMatchObject({ status: 202 });
    await expect(world.createArqs(profile)).rejects.toThrow('FPGA');
    for (const instance of [one, other]) await world.deleteArqsOf(instance);
    await deleteQuota(world.deps, project);
  });

  it('that refuse the first leave its room to others', async () => {
    await setQuota(world.deps, project, { FPGA: 0 });
    expect(await given()).toEqual(slowFirst);
    const stored = await world.deps.store.profiles.byName(profile);
    for (let number = 1; number <= 8; number += 1) expect(await given()).toEqual(slowFirst);
    expect(stored && (await giveAlternative(world.deps, stored, 'another'))).toEqual([fast]);
    await deleteQuota(world.deps, project);
  });

  it('are taken for another class long after the creation', async () => {
    await setQuota(world.deps, project, { FPGA: 5, CUSTOM_SLOW: 5 });
    const arqs = await world.createArqs(profile);
    const deps = { ...world.deps, clock: () => Date.now() + 61_000 };
    const [arqUuid] = arqs;
    const instanceUuid = nextInstance();
    const target = { hostname: 'cmp2', providerUuid: slowProvider, instanceUuid, arqUuid };
    await bindArqs(deps, aCaller({ projectId: project }), [target]);
    const quota = await world.deps.store.quotas.byProject(project);
    expect(quota?.unitsLeft).toMatchObject({ CUSTOM_SLOW: 4 });
    await world.deleteArqsOf(instanceUuid);
    await deleteQuota(world.deps, project);
  });

  it('refuse no server that an administrator moves', async () => {
    await setQuota(world.deps, project, { CUSTOM_SLOW: 0 });
    const [arqUuid] = await world.createArqs(profile, 'admin-token');
    const instanceUuid = nextInstance();
    const { nova } = world.deps.clients;
    const server = async () =>
      ({ ...((await nova.server(instanceUuid)) as object), projectId: project }) as never;
    const deps = withClients(world.deps, { nova: { server } });
    const admin = aCaller({ projectId: 'admin', roles: ['admin'] });
    const arq = (await deps.store.arqs.byUuids([arqUuid])).get(arqUuid);
    const target = { hostname: 'cmp2', providerUuid: slowProvider, instanceUuid, arqUuid };
    await bindArqs(deps, { ...admin, projectId: arq?.projectId ?? '' }, [target]);
    await world.deleteArqsOf(instanceUuid);
    await deleteQuota(world.deps, project);
  });

  it('take the units of the class that is bound', async () => {
    await setQuota(world.deps, project, { FPGA: 5, CUSTOM_SLOW: 5 });
    const instance = nextInstance();
    await world.createBound(profile, { provider: slowProvider, instance, host: 'cmp2' });
    const quota = await world.deps.store.quotas.byProject(project);
    expect(quota?.unitsLeft).toMatchObject({ CUSTOM_SLOW: 4 });
    await world.deleteArqsOf(instance);
    await deleteQuota(world.deps, project);
  });
});
