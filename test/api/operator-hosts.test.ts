// The hosts of the operator's API, behind the gateway on one machine.

import { beforeAll, describe, expect, it } from 'vitest';
import { recordPresence } from '#core/operations/hosts/record-presence.ts';
import { readIncidents } from '#functions/operator/incidents/incident-reads.ts';
import { aDevice, applySettled, aReport } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { type Ask, startWorld } from '#test/support/world.ts';
import { operatorsApi } from './operators-api.ts';

const world = perFile(() => startWorld({ settings: { CYBORG_ATTACH_TYPES: 'TEST_PCI' } }));
const operator = operatorsApi(world);

beforeAll(async () => {
  const now = Date.now();
  for (const name of ['cmp1', 'cmp2', 'cmp3']) {
    const notOffered = [{ address: '0000:0f:00.0', driver: 'pci', reason: 'is in use by nvme' }];
    const report = aReport([aDevice({ handles: 3 })], { not_offered: notOffered });
    await applySettled(world.deps, name, report, now);
  }
  const event = { clientId: 'cmp2', eventType: 'disconnected', timestamp: now } as const;
  await recordPresence(world.deps, 'cmp2', { ...event, timestamp: now - 3_600_000 });
  await recordPresence(world.deps, 'cmp4', { ...event, eventType: 'connected' });
});

const post = (path: string, body?: unknown) => operator('POST', path, { body });

const statusesOf = async (name: string) =>
  (await world.deps.store.inventory.host(name)).devices.map(({ status }) => status);

const get = (path: string, ask?: Ask) => operator('GET', path, ask);

describe('GET /operator/v1/hosts', () => {
  it('has no microversions: neither 406 nor headers', async () => {
    const { status, headers } = await get('/hosts', { microversion: 'accelerator 9.9' });
    expect(status).toBe(200);
    expect([...headers.keys()].filter((name) => name.startsWith('openstack'))).toEqual([]);
    expect(headers.get('vary')).toBeNull();
  });

  it('lists each host with its state and its numbers of devices', async () => {
    const { json } = await get('/hosts');
    expect(json.hosts.map(({ hostname, state }) => [hostname, state])).toEqual([
      ['cmp1', 'online'],
      ['cmp2', 'online'],
      ['cmp3', 'online'],
      ['cmp4', 'never-reported'],
    ]);
    expect(json.hosts[0]).toMatchObject({
      agent_version: 'test',
      devices: 1,
      not_offered: 1,
      drained: null,
      paused: null,
    });
    expect(json.hosts[3]).toMatchObject({ devices: 0, boot_id: null, last_report_at: null });
  });

  it('pages by the hosts name, and filters by state', async () => {
    const first = await get('/hosts?limit=2&state=online');
    expect(first.json.hosts.map(({ hostname }) => hostname)).toEqual(['cmp1', 'cmp2']);
    const { href = '' } = first.json.hosts_links?.[0] ?? {};
    expect(href).toContain('/accelerator/operator/v1/hosts?state=online&limit=2&marker=cmp2');
    const second = await get(href.split('/operator/v1')[1] ?? '');
    expect(second.json).toMatchObject({ hosts: [{ hostname: 'cmp3' }] });
    expect(second.json.hosts_links).toBeUndefined();
  });
});

describe('GET /operator/v1/hosts/{hostname}', () => {
  it('an unknown host: 404', async () => {
    expect((await get('/hosts/cmp9')).status).toBe(404);
  });

  it('shows devices with the states of their handles, and what is not offered', async () => {
    const { status, json } = await get('/hosts/cmp1');
    expect(status).toBe(200);
    expect(json.devices).toMatchObject([
      { address: '0000:0c:00.0', status: 'enabled', health: null, handles: { free: 3 } },
    ]);
    expect(json.not_offered).toEqual([
      { address: '0000:0f:00.0', driver: 'pci', reason: 'is in use by nvme' },
    ]);
  });

  it('shows which drivers its last report names as failed, but not those of a hello', async () => {
    const devices = [aDevice({ handles: 3 })];
    const shown = async (given: Parameters<typeof aReport>[1]) => {
      await applySettled(world.deps, 'cmp3', aReport(devices, given), Date.now());
      return (await get('/hosts/cmp3')).json.failed_drivers;
    };
    expect(await shown({ sequence: 2, failed_drivers: ['nvme'] })).toEqual(['nvme']);
    const hello = { is_hello: true, devices: [], failed_drivers: ['nvme', 'pci'] };
    expect(await shown({ sequence: 3, ...hello })).toEqual(['nvme']);
    expect(await shown({ sequence: 4, devices: [] })).toEqual([]);
  });
});

describe('drain and resume', () => {
  it.each([
    [{}, 'reason: is missing, and must be a string.'],
    [{ reason: 4 }, 'reason: must be a string.'],
    [{ reason: '' }, 'reason: must have at least 1 character.'],
    [{ reason: 'a fan', until: 'soon' }, 'until: must be a time with its zone, such as 2026'],
    [{ reason: 'a fan', until: '2026-12-01' }, 'until: must be a time with its zone, such as'],
    [[], 'The body must be an object.'],
    [{ reason: 'a fan', until: '2020-01-01T00:00:00Z' }, 'not in the future'],
    [{ reason: 'a fan', why: 'x' }, 'why'],
  ])('%j: 400 that names %s', async (body, named) => {
    const { status, json } = await post('/hosts/cmp1/drain', body);
    expect([status, json.error]).toEqual([400, expect.stringContaining(named)]);
    expect(await statusesOf('cmp1')).toEqual(['enabled']);
  });

  it('resume of a host that is not drained: 409 that says how its devices are', async () => {
    const { status, json } = await post('/hosts/cmp1/resume');
    expect([status, json.error]).toEqual([409, expect.stringContaining('1 of its devices are')]);
  });

  it('disables all devices with a reason, again as well, and resume enables them', async () => {
    const { json } = await post('/hosts/cmp1/drain', { reason: 'a fan' });
    expect(json.devices).toHaveLength(1);
    expect((await post('/hosts/cmp1/drain', { reason: 'a fan' })).json).toEqual(json);
    const shown = (await get('/hosts/cmp1')).json.devices[0];
    expect(shown).toMatchObject({ status: 'disabled', reason: 'a fan' });
    const drained = { by: expect.any(String), since: expect.any(String), until: null };
    const state = { hostname: 'cmp1', state: 'drained', drained: { ...drained, reason: 'a fan' } };
    expect((await get('/hosts?state=drained')).json.hosts).toMatchObject([state]);
    expect((await post('/hosts/cmp1/resume')).json.devices).toEqual(json.devices);
    expect(await statusesOf('cmp1')).toEqual(['enabled']);
  });

  it('resume leaves a device that an operator has disabled since', async () => {
    const { json } = await post('/hosts/cmp2/drain', { reason: 'a fan' });
    await world.ask('POST', `/v2/devices/${json.devices[0]}/disable`);
    expect((await post('/hosts/cmp2/resume')).json.devices).toEqual([]);
    expect(await statusesOf('cmp2')).toEqual(['maintaining']);
    const { status, json: refusal } = await post('/hosts/cmp2/resume');
    expect([status, refusal.error]).toEqual([409, expect.stringContaining('and 1 are disabled')]);
  });

  it('includes a device that the host reports later, unless an operator enables it', async () => {
    await post('/hosts/cmp2/drain', { reason: 'a fan' });
    const later = aDevice({ address: '0000:0d:00.0', provider_suffix: 'Later' });
    const report = (sequence: number) => aReport([aDevice(), later], { sequence });
    await applySettled(world.deps, 'cmp2', report(2), Date.now());
    expect(await statusesOf('cmp2')).toEqual(['maintaining', 'maintaining']);
    const { devices } = await world.deps.store.inventory.host('cmp2');
    const { uuid } = devices.find(({ address }) => address === later.address) ?? {};
    await world.ask('POST', `/v2/devices/${uuid}/enable`);
    await applySettled(world.deps, 'cmp2', report(3), Date.now());
    expect(await statusesOf('cmp2')).toEqual(['maintaining', 'enabled']);
    expect((await post('/hosts/cmp2/resume')).json.devices).toEqual([]);
  });

  it('disables a device that a report has added beside the drain', async () => {
    const { inventory } = world.deps.store;
    const report = aReport([aDevice({ handles: 3 })], { sequence: 50 });
    await applySettled(world.deps, 'cmp1', report, Date.now());
    const at = new Date().toISOString();
    await inventory.putDrain('cmp1', { by: 'user-1', at, reason: 'a fan' });
    const [device] = (await inventory.host('cmp1')).devices;
    if (!device) throw new Error('The device is missing.');
    const early = { status: 'enabled', by: 'user-1', at: '2026-01-01T00:00:00.000Z' } as const;
    await inventory.changeStatus(device, early);
    await applySettled(world.deps, 'cmp1', { ...report, sequence: 51 }, Date.now());
    expect(await statusesOf('cmp1')).toEqual(['maintaining']);
    await post('/hosts/cmp1/resume');
    expect(await statusesOf('cmp1')).toEqual(['enabled']);
  });

  it('a drain lasts beyond its end, with an incident that says so until the resume', async () => {
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const { json } = await post('/hosts/cmp3/drain', { reason: 'a fan', until });
    const overdue = async (ms: number) => {
      const deps = { ...world.deps, clock: () => Date.parse(until) + ms };
      const read = await readIncidents['maintenance-overdue'](deps, undefined, 100);
      return read.flatMap(({ row }) => row ?? []);
    };
    expect(await overdue(-1)).toEqual([]);
    const incident = { kind: 'maintenance-overdue', hostname: 'cmp3', since: until };
    expect(await overdue(1)).toMatchObject([{ ...incident, action: 'resume' }]);
    expect((await overdue(1))[0]?.reason).toContain('a fan');
    expect(await statusesOf('cmp3')).toEqual(['maintaining']);
    await post('/hosts/cmp3/drain', { reason: 'two fans' });
    expect(await overdue(1)).toEqual([]);
    await post('/hosts/cmp3/drain', { reason: 'a fan', until });
    expect((await post('/hosts/cmp3/resume')).json.devices).toEqual(json.devices);
    expect(await overdue(1)).toEqual([]);
  });
});

describe('POST /operator/v1/hosts/{hostname}/rediscover', () => {
  it('a host without an agent: 409 that says its state', async () => {
    const { status, json } = await post('/hosts/cmp4/rediscover');
    expect([status, json.error]).toEqual([409, expect.stringContaining('never-reported')]);
  });
});
