// How many more servers fit: all of it for operators, and one word for tenants.

import { beforeAll, describe, expect, it } from 'vitest';
import { aDevice, applySettled, aReport } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';
import { operatorsApi } from './operators-api.ts';

const world = perFile(() => startWorld({ settings: { CYBORG_ATTACH_TYPES: 'TEST_PCI' } }));
const operator = operatorsApi(world);
let uuid: string;

beforeAll(async () => {
  const now = Date.now();
  await applySettled(world.deps, 'cmp1', aReport([aDevice({ handles: 3 })]), now);
  await applySettled(world.deps, 'cmp2', aReport([aDevice({ handles: 4 })]), now);
  await applySettled(world.deps, 'cmp3', aReport([aDevice({ handles: 8 })]), now - 3_600_000);
  const { devices } = await world.deps.store.inventory.host('cmp2');
  await world.ask('POST', `/v2/devices/${devices[0]?.uuid}/disable`);
  const groups = { one: '1', two: '2' };
  for (const [name, amount] of Object.entries(groups)) {
    const body = [{ name, groups: [{ 'resources:FPGA': amount }] }];
    const { json } = await world.ask('POST', '/v2/device_profiles', { body });
    uuid = json.uuid;
  }
});

const asked = (groups: unknown) => `?groups=${encodeURIComponent(JSON.stringify(groups))}`;

const get = (query: string, token = 'admin-token') =>
  operator('GET', `/capacity${query}`, { token });

describe('GET /operator/v1/capacity', () => {
  it.each([
    ['', 400, 'profile'],
    ['?profile=one&colour=red', 400, 'colour'],
    ['?profile=one&marker=cmp9', 400, 'Marker cmp9'],
    ['?profile=none', 404, 'none'],
    ['?profile=one&groups=[]', 400, 'either profile or groups'],
    ['?groups={', 400, 'groups: not valid JSON'],
    ['?groups={}', 400, 'groups'],
    [asked([{ 'resources:GPGPU': '1' }]), 400, 'groups[0]["resources:GPGPU"]'],
    [asked([{ 'trait:CUSTOM_A': 'required' }]), 400, 'groups[0] asks for no resource'],
    ['?profile=one&host=cmp9', 404, 'cmp9'],
  ])('%s: %i that names %s', async (query, expected, named) => {
    const { status, json } = await get(query);
    expect([status, json.error]).toEqual([expected, expect.stringContaining(named)]);
  });

  it('says where servers fit, and what stops the others', async () => {
    const stopped_by = [
      { reason: 'host-away', count: 8 },
      { reason: 'disabled', count: 4 },
    ];
    expect((await get('?profile=one')).json).toEqual({
      profile: 'one',
      measured_at: null,
      total: { fits: 3, hosts: 1, stopped_by },
      fits: 3,
      hosts: [
        { hostname: 'cmp1', fits: 3, stopped_by: [] },
        { hostname: 'cmp2', fits: 0, stopped_by: [{ reason: 'disabled', count: 4 }] },
        { hostname: 'cmp3', fits: 0, stopped_by: [{ reason: 'host-away', count: 8 }] },
      ],
      stopped_by,
    });
    expect((await get(`?profile=${uuid}&host=cmp1`)).json).toEqual({
      profile: 'two',
      measured_at: null,
      total: null,
      fits: 1,
      hosts: [{ hostname: 'cmp1', fits: 1, stopped_by: [{ reason: 'remainder', count: 1 }] }],
      stopped_by: [{ reason: 'remainder', count: 1 }],
    });
  });

  it('names the traits and classes that no device of the cloud has', async () => {
    const device = 'CUSTOM_SPELLED_OTHERWISE';
    const group = { 'resources:FPGA': '1', [`trait:${device}`]: 'required' };
    const { json } = await get(asked([group, { ...group, 'trait:CUSTOM_B': 'forbidden' }]));
    expect(json).toMatchObject({ fits: 0, missing: [`trait:${device}`] });
    const absent = { 'resources:CUSTOM_ABSENT': '1', 'trait:CUSTOM_A': 'required' };
    expect((await get(asked([absent]))).json).toMatchObject({
      fits: 0,
      missing: ['resources:CUSTOM_ABSENT'],
    });
    const page = (await get(`${asked([group])}&limit=1`)).json;
    expect(page).not.toHaveProperty('missing');
  });

  it('answers for groups of no profile as for a profile with them', async () => {
    const { json: stored } = await world.ask('GET', '/v2/device_profiles', {
      token: 'admin-token',
    });
    const groups = stored.device_profiles.find(({ name }) => name === 'one')?.groups;
    const [{ json: ofProfile }, { json: ofGroups }] = [
      await get('?profile=one'),
      await get(asked(groups)),
    ];
    expect(ofGroups).toEqual({ ...ofProfile, profile: null });
    expect(ofGroups).toMatchObject({ fits: 3 });
    const { json: page } = await get(`${asked(groups)}&limit=2`);
    const next = new URL(page.hosts_links?.[0].href ?? '').search;
    expect((await get(next)).json.hosts).toEqual([expect.objectContaining({ hostname: 'cmp3' })]);
    expect((await get(asked(groups), 'reader-token')).json).toEqual({
      profile: null,
      measured_at: null,
      availability: 'few',
    });
  });

  it('pages by host', async () => {
    const { json } = await get('?profile=one&limit=2');
    expect(json.hosts_links?.[0].href).toMatch(/capacity\?profile=one&limit=2&marker=cmp2$/);
  });

  it('a tenant is told whether there is any, not where', async () => {
    const one = await get('?profile=one', 'reader-token');
    expect(one.json).toEqual({ profile: 'one', measured_at: null, availability: 'few' });
    const ofHost = await get('?profile=one&host=cmp2', 'reader-token');
    expect(ofHost.status).toBe(403);
  });

  it('a tenant learns of the best alternative, and an operator of the named one', async () => {
    const [nowhere, here] = [[{ 'resources:CUSTOM_NOWHERE': '1' }], [{ 'resources:FPGA': '1' }]];
    await world.createProfile('either', ...nowhere);
    const body = { name: 'either', groups: nowhere, alternatives: [here] };
    await world.ask('PUT', '/operator/v1/device_profiles/either', { body });
    const asTenant = await get('?profile=either', 'reader-token');
    expect(asTenant.json).toMatchObject({ availability: 'few' });
    expect((await get('?profile=either')).json).toMatchObject({ fits: 0 });
    const { hosts } = (await get('?profile=one')).json;
    expect((await get('?profile=either&alternative=1')).json.hosts).toEqual(hosts);
  });
});
