// Who has which device: an operator sees all, a tenant its own, and nothing tells of the others.

import { beforeAll, describe, expect, it } from 'vitest';
import { providerUuid } from '#core/domain/ids.ts';
import { aDevice, applySettled, aReport } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';
import { operatorsApi } from './operators-api.ts';

const world = perFile(() => startWorld({ settings: { CYBORG_ATTACH_TYPES: 'TEST_PCI' } }));
const operator = operatorsApi(world);

/** Instances of the projects demo and alt, one on each host. */
const instances = ['1', '2', '3'].map((n) => `77aa0000-0000-4000-8000-00000000000${n}`);
const [first = '', second = '', third = ''] = instances;

async function bind(token: string, host: string, instance: string): Promise<void> {
  const target = { host, provider: providerUuid(`${host}_FakeDevice`), instance };
  await world.createBound('fpga', target, token);
}

beforeAll(async () => {
  for (const host of ['cmp1', 'cmp2']) {
    await applySettled(world.deps, host, aReport([aDevice({ handles: 3 })]), Date.now());
  }
  await world.createProfile('fpga', { 'resources:FPGA': '1' });
  await bind('demo-token', 'cmp1', first);
  await bind('demo-token', 'cmp2', second);
  await bind('alt-token', 'cmp1', third);
  // An ARQ that is bound to nothing is no assignment.
  await world.createArqs('fpga');
});

const get = (query: string, token = 'admin-token') =>
  operator('GET', `/assignments${query}`, { token });

const instancesIn = async (query: string, token?: string) => {
  const { assignments, ...rest } = (await get(query, token)).json;
  expect(rest).toEqual({});
  return assignments.map(({ instance_uuid }) => instance_uuid);
};

describe('an operator', () => {
  it('sees each claim from the device to the project', async () => {
    const { json } = await get(`?instance=${first}`);
    expect(json.assignments).toMatchObject([
      {
        device_address: '0000:0c:00.0',
        hostname: 'cmp1',
        type: 'FPGA',
        resource_class: 'FPGA',
        attach_type: 'TEST_PCI',
        arq_state: 'Bound',
        device_profile_name: 'fpga',
        instance_uuid: first,
      },
    ]);
  });

  it('finds by host, device, project, instance and ARQ', async () => {
    const [own] = (await get(`?instance=${first}`)).json.assignments;
    expect(await instancesIn('')).toEqual([first, second, third]);
    expect(await instancesIn('?host=cmp1')).toEqual([first, third]);
    expect(await instancesIn(`?device=${own?.device_uuid}`)).toEqual([first, third]);
    expect(await instancesIn(`?project=${own?.project_id}`)).toEqual([first, second]);
    expect(await instancesIn(`?project=${own?.project_id}&host=cmp2`)).toEqual([second]);
    expect(await instancesIn(`?arq=${own?.arq_uuid}&host=cmp2`)).toEqual([]);
    expect(await instancesIn(`?arq=${own?.arq_uuid}`)).toEqual([first]);
  });

  it.each(['', '&host=cmp1', '&project=demo'])('pages to the end of %s', async (filter) => {
    const whole = (await get(`?limit=1000${filter}`)).json.assignments;
    const found: unknown[] = [];
    let query = `?limit=1${filter}`;
    while (query !== '') {
      const { assignments, assignments_links: links } = (await get(query)).json;
      found.push(...assignments);
      query = links ? `?${links[0].href.split('?')[1]}` : '';
    }
    expect(found).toEqual(whole);
  });
});

describe('a tenant', () => {
  it('sees its own project, whatever it filters by', async () => {
    const [other] = (await get(`?instance=${third}`)).json.assignments;
    const [own] = (await get(`?instance=${first}`)).json.assignments;
    const asReader = (query: string) => instancesIn(query, 'demo-token');
    expect(await asReader('')).toEqual([first, second]);
    expect(await asReader('?host=cmp1')).toEqual([first]);
    expect(await asReader(`?device=${own?.device_uuid}`)).toEqual([first]);
    expect(await asReader(`?project=${own?.project_id}`)).toEqual([first, second]);
    expect(await asReader(`?project=${other?.project_id}`)).toEqual([]);
    expect(await asReader(`?instance=${third}`)).toEqual([]);
    expect(await asReader(`?arq=${other?.arq_uuid}`)).toEqual([]);
  });

  it('gets the same pages whether or not others have rows', async () => {
    const { json } = await get('?host=cmp1&limit=1', 'demo-token');
    expect(json.assignments.map(({ instance_uuid }) => instance_uuid)).toEqual([first]);
    const next = `?${json.assignments_links?.[0].href.split('?')[1]}`;
    expect(await instancesIn(next, 'demo-token')).toEqual([]);
  });

  it('sees the health and the maintenance of its devices, and nothing of others', async () => {
    const until = '2099-01-01T06:00:00Z';
    const since = new Date().toISOString();
    const health = { state: 'unhealthy', reason: 'has 3 pending row remaps', since } as const;
    const sick = aReport([aDevice({ handles: 3, health })], { sequence: 2 });
    await applySettled(world.deps, 'cmp2', sick, Date.now());
    const drain = { reason: 'a fan', until };
    await operator('POST', '/hosts/cmp1/drain', { body: drain });
    const { assignments } = (await get('', 'demo-token')).json;
    const told = assignments.map((row) => [
      row.device_status,
      row.device_health,
      row.maintenance_until && Date.parse(row.maintenance_until),
    ]);
    expect(told).toEqual([
      ['disabled', null, Date.parse(until)],
      ['enabled', health.reason, null],
    ]);
    expect(JSON.stringify(assignments)).not.toContain(drain.reason);
    const [other] = (await get('', 'alt-token')).json.assignments;
    expect([other?.device_status, other?.device_health]).toEqual(['disabled', null]);
    await operator('POST', '/hosts/cmp1/resume', {});
    const [after] = (await get('', 'demo-token')).json.assignments;
    expect([after?.device_status, after?.maintenance_until]).toEqual(['enabled', null]);
  });
});
