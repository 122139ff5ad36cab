import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { Service } from '#local/openstack/http-service.ts';
import { startKeystone } from '#local/openstack/keystone/keystone.ts';
import { startPlacement } from '#local/openstack/placement/placement.ts';
import { directoryPerTest, perTest } from '#test/support/vitest/shared.ts';

const directory = directoryPerTest();
const keystone = perTest(() => startKeystone({ host: '127.0.0.1', port: 0 }));
let placement: Service;

beforeEach(async () => {
  placement = await start();
});
afterEach(() => placement.stop());

describe('a caller', () => {
  it.each([
    { token: 'nonsense', status: 401 },
    { token: 'demo-token', status: 403 },
    { token: 'telemetry-token', status: 200 },
    { token: 'admin-token', status: 200 },
  ])('with $token gets $status', async ({ token, status }) => {
    expect((await call('GET', '/resource_providers', undefined, { token })).status).toBe(status);
  });

  it.each([
    { version: '1.0', status: 200 },
    { version: '1.39', status: 200 },
    { version: 'latest', status: 200 },
    { version: '1.40', status: 406 },
    { version: '2.0', status: 406 },
    { version: 'new', status: 400 },
  ])('with microversion $version gets $status', async ({ version, status }) => {
    const answer = await call('GET', '/resource_providers', undefined, { version });
    expect(answer.status).toBe(status);
  });

  it('without a microversion gets 1.0, as from Placement', async () => {
    const headers = { 'X-Auth-Token': 'admin-token' };
    const response = await fetch(`${placement.url}/resource_providers`, { headers });
    expect(response.status).toBe(200);
    expect(response.headers.get('openstack-api-version')).toBe('placement 1.0');
  });

  it('of an older microversion creates a provider without a body in the answer', async () => {
    const body = { name: 'cmp9' };
    const { status } = await call('POST', '/resource_providers', body, { version: '1.19' });
    expect(status).toBe(201);
    const { body: found } = await call('GET', '/resource_providers?name=cmp9');
    expect(found).toMatchObject({ resource_providers: [body] });
  });

  it('writes allocations without a generation before 1.28, and with one from it on', async () => {
    const device = await aProvider('device');
    await inventories(device, { FPGA: { total: 2 } });
    const consumer = '/allocations/77aa0000-0000-4000-8000-000000000001';
    const allocations = { [device]: { resources: { FPGA: 1 } } };
    const body = { allocations, project_id: 'p', user_id: 'u' };
    const statusOf = async (version: string) =>
      (await call('PUT', consumer, body, { version })).status;
    expect(await statusOf('1.12')).toBe(204);
    expect(await statusOf('1.27')).toBe(204);
    expect(await statusOf('1.28')).toBe(400);
  });
});

describe('generations', () => {
  it('grow with inventories, changed traits and claims, as in Placement', async () => {
    const device = await aProvider('device');
    expect(await generation(device)).toBe(0);
    await inventories(device, { FPGA: { total: 2 } });
    expect(await generation(device)).toBe(1);
    await inventories(device, { FPGA: { total: 2 } });
    expect(await generation(device)).toBe(2);
    await traits(device, ['OWNER_CYBORG']);
    await traits(device, ['OWNER_CYBORG']);
    expect(await generation(device)).toBe(3);
    const consumer = crypto.randomUUID();
    await claim(consumer, { [device]: { FPGA: 1 } });
    expect(await generation(device)).toBe(4);
    await call('DELETE', `/allocations/${consumer}`);
    expect(await generation(device)).toBe(4);
  });
});

describe('a claim', () => {
  it.each([
    { what: 'more than the inventory', resources: { FPGA: 4 }, status: 409 },
    { what: 'more than max_unit', resources: { FPGA: 3 }, status: 409 },
    { what: 'a class that the provider lacks', resources: { VGPU: 1 }, status: 409 },
    { what: 'an unknown class', resources: { CUSTOM_X: 1 }, status: 400 },
    { what: 'an amount of 0', resources: { FPGA: 0 }, status: 400 },
    { what: 'a free amount', resources: { FPGA: 2 }, status: 204 },
  ])('of $what is answered $status', async ({ resources, status }) => {
    const device = await aProvider('device');
    await inventories(device, { FPGA: { total: 4, reserved: 1, max_unit: 2 } });
    expect((await claim(crypto.randomUUID(), { [device]: resources })).status).toBe(status);
  });

  it('counts the allocations of other consumers', async () => {
    const device = await aProvider('device');
    await inventories(device, { FPGA: { total: 2 } });
    expect((await claim(crypto.randomUUID(), { [device]: { FPGA: 1 } })).status).toBe(204);
    expect((await claim(crypto.randomUUID(), { [device]: { FPGA: 2 } })).status).toBe(409);
  });

  it('for a consumer that has changed is a conflict', async () => {
    const device = await aProvider('device');
    await inventories(device, { FPGA: { total: 2 } });
    const consumer = crypto.randomUUID();
    await claim(consumer, { [device]: { FPGA: 1 } });
    const again = await claim(consumer, { [device]: { FPGA: 1 } });
    expect(again.status).toBe(409);
    expect(again.body).toMatchObject({ errors: [{ code: 'placement.concurrent_update' }] });
    expect((await claim(consumer, {}, 1)).status).toBe(204);
    expect((await call('DELETE', `/allocations/${consumer}`)).status).toBe(404);
  });
});

describe('candidates', () => {
  it('take each group from one provider in the tree of the host', async () => {
    const host = await aHost('cmp1');
    const device = await aDevice('card', host, ['OWNER_CYBORG']);
    await aDevice('other card', host, []);
    const query = 'resources=VCPU:1&resources_a=FPGA:1&required_a=OWNER_CYBORG';
    expect(await candidates(query)).toEqual([
      {
        allocations: { [host]: { resources: { VCPU: 1 } }, [device]: { resources: { FPGA: 1 } } },
        mappings: { '': [host], _a: [device] },
      },
    ]);
  });

  it('avoid forbidden traits, and hosts without the device', async () => {
    const host = await aHost('cmp1');
    await aHost('cmp2');
    await aDevice('card', host, ['OWNER_CYBORG']);
    const plain = await aDevice('plain card', host, []);
    const found = await candidates('resources=VCPU:1&resources_a=FPGA:1&required_a=!OWNER_CYBORG');
    expect(found.map(({ mappings }) => mappings._a)).toEqual([[plain]]);
  });

  it('add up what several groups take from the same provider', async () => {
    const host = await aHost('cmp1');
    await aDevice('card', host, []);
    const two = 'resources=VCPU:1&resources_a=FPGA:1&resources_b=FPGA:1';
    expect(await candidates(`${two}&group_policy=none`)).toHaveLength(1);
    expect(await candidates(`${two}&group_policy=isolate`)).toHaveLength(0);
    const three = `${two}&resources_c=FPGA:1&group_policy=none`;
    expect(await candidates(three)).toHaveLength(0);
  });

  it('leave out reserved and allocated amounts', async () => {
    const host = await aHost('cmp1');
    const device = await aDevice('card', host, []);
    await claim(crypto.randomUUID(), { [device]: { FPGA: 1 } });
    expect(await candidates('resources=VCPU:1&resources_a=FPGA:1')).toHaveLength(1);
    expect(await candidates('resources=VCPU:1&resources_a=FPGA:2')).toHaveLength(0);
    await inventories(device, { FPGA: { total: 2, reserved: 2 } });
    expect(await candidates('resources=VCPU:1&resources_a=FPGA:1')).toHaveLength(0);
  });

  it.each([
    ['resources=VCPU:1&resources_a=FPGA:1&resources_b=FPGA:1', 'group_policy'],
    ['resources=VCPU:1&required_a=OWNER_CYBORG', 'Resourceless'],
    ['resources=VCPU:1&required=CUSTOM_NOWHERE', 'No such trait'],
    ['resources=CUSTOM_NOWHERE:1', 'No such resource class'],
    ['resources=VCPU:none', 'positive integer'],
    ['limit=1', 'at least one resources'],
  ])('for %s are refused', async (query, says) => {
    const answer = await call('GET', `/allocation_candidates?${query}`);
    expect(answer.status).toBe(400);
    expect(JSON.stringify(answer.body)).toContain(says);
  });
});

it('keeps confirmed changes through a restart', async () => {
  const device = await aProvider('device');
  await inventories(device, { FPGA: { total: 2 } });
  const consumer = crypto.randomUUID();
  await claim(consumer, { [device]: { FPGA: 1 } });
  await placement.stop();
  placement = await start();
  expect(await generation(device)).toBe(2);
  expect((await call('GET', `/allocations/${consumer}`)).body).toMatchObject({
    allocations: { [device]: { resources: { FPGA: 1 } } },
    consumer_generation: 1,
  });
});

function start(): Promise<Service> {
  const stateFile = join(directory, 'state.json');
  return startPlacement({ host: '127.0.0.1', port: 0, keystoneUrl: keystone.url, stateFile });
}

async function call(
  method: string,
  path: string,
  body?: unknown,
  { token = 'admin-token', version = '1.36' } = {},
) {
  const response = await fetch(`${placement.url}${path}`, {
    method,
    headers: { 'X-Auth-Token': token, 'OpenStack-API-Version': `placement ${version}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const parsed: unknown = text ? JSON.parse(text) : undefined;
  return { status: response.status, body: parsed };
}

async function aProvider(name: string, parent: string | null = null): Promise<string> {
  const uuid = crypto.randomUUID();
  await call('POST', '/resource_providers', { uuid, name, parent_provider_uuid: parent });
  return uuid;
}

async function aHost(name: string): Promise<string> {
  const uuid = await aProvider(name);
  await inventories(uuid, { VCPU: { total: 8 } });
  return uuid;
}

async function aDevice(name: string, host: string, has: string[]): Promise<string> {
  const uuid = await aProvider(name, host);
  await inventories(uuid, { FPGA: { total: 2 } });
  await traits(uuid, has);
  return uuid;
}

async function generation(uuid: string): Promise<number> {
  const { body } = await call('GET', `/resource_providers/${uuid}`);
  return z.object({ generation: z.number() }).parse(body).generation;
}

async function inventories(uuid: string, values: unknown): Promise<void> {
  const body = { resource_provider_generation: await generation(uuid), inventories: values };
  expect((await call('PUT', `/resource_providers/${uuid}/inventories`, body)).status).toBe(200);
}

async function traits(uuid: string, values: string[]): Promise<void> {
  const body = { resource_provider_generation: await generation(uuid), traits: values };
  expect((await call('PUT', `/resource_providers/${uuid}/traits`, body)).status).toBe(200);
}

function claim(
  consumer: string,
  amounts: Record<string, Record<string, number>>,
  consumer_generation: number | null = null,
) {
  const rows = Object.entries(amounts).map(([uuid, resources]) => [uuid, { resources }]);
  const allocations = Object.fromEntries(rows);
  const body = { allocations, project_id: 'p', user_id: 'u', consumer_generation };
  return call('PUT', `/allocations/${consumer}`, body);
}

async function candidates(query: string) {
  const { body } = await call('GET', `/allocation_candidates?${query}`);
  const requests = z.object({
    allocation_requests: z.array(
      z.object({
        allocations: z.record(z.string(), z.unknown()),
        mappings: z.record(z.string(), z.array(z.string())),
      }),
    ),
  });
  return requests.parse(body).allocation_requests;
}
