// A catalog of several regions: an endpoint of one region is taken, or none.

import { expect, it } from 'vitest';
import { refuseSeveralRegions } from '#core/command-line/region-check.ts';
import { perTest } from '#test/support/vitest/shared.ts';
import { startWire } from './keystone-wire.ts';

const wire = perTest(startWire);

type Regions = Readonly<Record<string, readonly string[]>>;

/** The catalog of the next login: service type → the ids of its regions, in this order. */
function announce(regions: Regions, hasIds = true): void {
  const catalog = Object.entries(regions).map(([type, ids]) => ({
    type,
    endpoints: ids.map((id) => ({
      interface: 'internal',
      ...(hasIds ? { region: 'a name', region_id: id } : { region: id }),
      url: `http://${type}.${id.toLowerCase()}.test/`,
    })),
  }));
  const expires_at = new Date(wire.now + 3_600_000).toISOString();
  wire.interfere = ({ method }) =>
    method === 'POST'
      ? {
          status: 201,
          headers: { 'X-Subject-Token': 'own' },
          body: { token: { catalog, expires_at } },
        }
      : undefined;
}

function client(regionName?: string) {
  return wire.keystone({ settings: { ...wire.credentials(), ...(regionName && { regionName }) } });
}

const two: Regions = {
  identity: ['RegionOne'],
  placement: ['RegionOne', 'RegionTwo'],
  compute: ['RegionTwo', 'RegionOne'],
};

it.each(['placement', 'compute'])('%s in two regions is refused with both', async (type) => {
  for (const hasIds of [true, false]) {
    announce(two, hasIds);
    const refused = await client().endpoint(type).catch(String);
    expect(refused).toContain(`${type} at`);
    expect(refused).toContain('regionName must be one of RegionOne, RegionTwo');
  }
});

it.each(['RegionOne', 'RegionTwo'])('the region of the settings is taken: %s', async (region) => {
  announce(two);
  const us = client(region);
  for (const type of ['placement', 'compute']) {
    const root = `http://${type}.${region.toLowerCase()}.test`;
    expect(await us.endpoint(type)).toBe(type === 'compute' ? `${root}/v2.1` : root);
  }
  await refuseSeveralRegions(us);
});

it.each<[string, Regions]>([
  ['one region', { placement: ['RegionOne'], compute: ['RegionOne'] }],
  ['a Keystone that regions share', { identity: ['A', 'B'], placement: ['B'], compute: ['B'] }],
  ['a Glance of another region alone', { placement: ['B'], compute: ['B'], image: ['Central'] }],
  ['two endpoints in one region', { placement: ['B', 'B'], compute: ['B'] }],
])('%s needs no setting', async (_, regions) => {
  announce(regions);
  const us = client();
  expect(await us.endpoint('placement')).toMatch(/^http:\/\/placement/);
  expect(await us.endpoint('compute')).toMatch(/^http:\/\/compute/);
  await refuseSeveralRegions(us);
});

it('a check names the service and its regions, with what to set', async () => {
  announce({ placement: ['B'], compute: ['B', 'A', 'C'] });
  await expect(refuseSeveralRegions(client())).rejects.toMatchObject({
    message: 'The catalog has compute in several regions: A, B, C.',
    remedy: 'Set regionName to one of A, B, C.',
  });
});

it('an endpoint of the settings needs no region', async () => {
  announce(two);
  const endpoints = { placement: 'http://p.test', compute: 'http://c.test' };
  await refuseSeveralRegions(wire.keystone({ endpoints }));
});

it('a region that has gone from the catalog is no longer a choice', async () => {
  announce(two);
  const us = client();
  await expect(us.endpoint('compute')).rejects.toThrow('RegionTwo');
  announce({ ...two, compute: ['RegionOne'] });
  wire.now += 31_000;
  expect(await us.endpoint('compute')).toBe('http://compute.regionone.test/v2.1');
});

it('an endpoint of a region that differs in letter case is named', async () => {
  announce({ compute: ['regionOne'] });
  const refused = await client('RegionOne').endpoint('compute').catch(String);
  expect(refused).toContain("in region 'RegionOne' (it has internal in 'regionOne')");
});

it.each([
  ['compute', 'http://nova:8774', 'http://nova:8774/v2.1'],
  ['compute', 'http://nova:8774/v2.1/', 'http://nova:8774/v2.1'],
  ['compute', 'http://nova:8774/v2/5b7e5c0f4ad94a5c8d6e', 'http://nova:8774/v2.1'],
  ['compute', 'https://cloud.test/compute', 'https://cloud.test/compute/v2.1'],
  ['compute', 'https://gw.test/v1/nova', 'https://gw.test/v1/nova/v2.1'],
  ['image', 'http://glance:9292', 'http://glance:9292'],
  ['image', 'http://glance:9292/v2/', 'http://glance:9292'],
  ['image', 'https://cloud.test/image/v2', 'https://cloud.test/image'],
  ['placement', 'https://cloud.test/placement/', 'https://cloud.test/placement'],
])('%s as the field registers it, %s, is called below %s', async (type, registered, called) => {
  const us = wire.keystone({ endpoints: { [type]: registered } });
  expect(await us.endpoint(type)).toBe(called);
});
