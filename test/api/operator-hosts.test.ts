// The hosts of the operator's API, behind the gateway on one machine.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { recordPresence } from '#core/operations/inventory/record-presence.ts';
import { OpenApiCheck } from '#test/contract/openapi-check.ts';
import { aDevice, applySettled, aReport } from '#test/support/reports.ts';
import { type Ask, startWorld, type World } from '#test/support/world.ts';

let world: World;
let check: OpenApiCheck;

beforeAll(async () => {
  world = await startWorld({ settings: { CYBORG_ATTACH_TYPES: 'TEST_PCI' } });
  const now = Date.now();
  for (const name of ['cmp1', 'cmp2', 'cmp3']) {
    const notOffered = [{ address: '0000:0f:00.0', driver: 'pci', reason: 'is in use by nvme' }];
    const report = aReport([aDevice({ handles: 3 })], { not_offered: notOffered });
    await applySettled(world.deps, name, report, now);
  }
  const event = { clientId: 'cmp2', eventType: 'disconnected', timestamp: now } as const;
  await recordPresence(world.deps, 'cmp2', { ...event, timestamp: now - 3_600_000 });
  await recordPresence(world.deps, 'cmp4', { ...event, eventType: 'connected' });
  const { json } = await world.ask('GET', '/openapi.json', { token: null });
  check = new OpenApiCheck(json as never);
});
afterAll(() => world.stop());

/** The answer, which is as the OpenAPI document says. */
async function get(path: string, ask: Ask = {}) {
  const answer = await world.ask('GET', `/accelerator/operator/v1${path}`, ask);
  check.check({ method: 'GET', url: `/operator/v1${path}`, ...answer });
  return answer;
}

describe('GET /operator/v1/hosts', () => {
  it.each([
    ['?colour=red', 'colour'],
    ['?state=asleep', 'state'],
    ['?limit=0', 'limit'],
    ['?limit=1001', 'limit'],
    ['?marker=cmp9', 'Marker cmp9 could not be found'],
  ])('%s: 400 that names %s', async (query, named) => {
    const { status, json } = await get(`/hosts${query}`);
    expect([status, json.error]).toEqual([400, expect.stringContaining(named)]);
  });

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
});
