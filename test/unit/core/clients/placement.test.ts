import { beforeAll, describe, expect, it } from 'vitest';
import { createHttp, RequestRefused, ServiceUnavailable } from '#core/clients/http.ts';
import { createKeystone, type Keystone } from '#core/clients/openstack/keystone/keystone.ts';
import {
  createPlacement,
  GenerationConflict,
  InventoryInUse,
  type Placement,
  ProviderExists,
} from '#core/clients/openstack/placement.ts';
import { silentLog } from '#core/log.ts';
import { serviceCredentials, startKeystone } from '#local/openstack/keystone/keystone.ts';
import { startPlacement } from '#local/openstack/placement/placement.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { aService } from './service-double.ts';

const cloud = perFile(() => startKeystone({ host: '127.0.0.1', port: 0 }));
const service = perFile(() =>
  startPlacement({ host: '127.0.0.1', port: 0, keystoneUrl: cloud.url }),
);
let identity: Keystone;
let placement: Placement;

beforeAll(() => {
  cloud.announce('placement', service.url);
  const settings = serviceCredentials('cyborg', cloud.url);
  identity = createKeystone({ settings, clock: Date.now, log: silentLog });
  placement = createPlacement({ identity, http: createHttp() });
});

describe('a provider', () => {
  it('is found by uuid, by name, and in its tree', async () => {
    const host = await aProvider();
    const device = await aProvider({ parentUuid: host.uuid });
    const region = await aProvider({ parentUuid: device.uuid });
    expect(await placement.getProvider(region.uuid)).toEqual({
      uuid: region.uuid,
      name: region.name,
      generation: 0,
      parentUuid: device.uuid,
      rootUuid: host.uuid,
    });
    expect(await placement.findProviderByName(host.name)).not.toHaveProperty('parentUuid');
    const tree = await placement.providersInTree(device.uuid);
    expect(tree.map(({ uuid }) => uuid).sort()).toEqual(
      [host.uuid, device.uuid, region.uuid].sort(),
    );
  });

  it('that does not exist is undefined, and so is its content', async () => {
    const uuid = crypto.randomUUID();
    expect(await placement.getProvider(uuid)).toBeUndefined();
    expect(await placement.findProviderByName('no such host/at all')).toBeUndefined();
    expect(await placement.providersInTree(uuid)).toEqual([]);
    expect(await placement.getInventories(uuid)).toBeUndefined();
    expect(await placement.getTraits(uuid)).toBeUndefined();
    expect(await placement.allocationsOf(uuid)).toEqual({});
  });

  it('that exists already is never taken for the requested one', async () => {
    const { uuid, name } = await aProvider();
    const again = placement.createProvider({ uuid, name });
    await expect(again).rejects.toThrow(ProviderExists);
    const sameName = placement.createProvider({ uuid: crypto.randomUUID(), name });
    await expect(sameName).rejects.toThrow(`name: ${name} already exists`);
  });

  it('leaves its tree with what is below it, and comes back', async () => {
    const node = await aProvider();
    const device = await aProvider({ parentUuid: node.uuid });
    const region = await aProvider({ parentUuid: device.uuid });
    const { uuid, name } = device;
    expect(await placement.moveProvider({ uuid, name: 'left' })).toBe('moved');
    const left = await placement.getProvider(uuid);
    expect([left?.name, left?.parentUuid]).toEqual(['left', undefined]);
    expect(await placement.getProvider(region.uuid)).toMatchObject({ rootUuid: uuid });
    expect(await placement.moveProvider({ uuid, name, parentUuid: node.uuid })).toBe('moved');
    const { generation: _, ...before } = device;
    expect(await placement.getProvider(uuid)).toMatchObject(before);
    const loop = placement.moveProvider({ ...node, parentUuid: region.uuid });
    await expect(loop).rejects.toThrow('loop in the provider tree');
    await expect(placement.moveProvider({ uuid, name: node.name })).rejects.toThrow(ProviderExists);
    const unknown = crypto.randomUUID();
    expect(await placement.moveProvider({ uuid: unknown, name })).toBe('absent');
  });

  it('stays where a Placement before Victoria has it', async () => {
    const old = await aService(() => ({
      status: 406,
      body: { errors: [{ status: 406, detail: 'Unacceptable version header: 1.37' }] },
    }));
    const moved = at(old.url).moveProvider({ uuid: crypto.randomUUID(), name: 'any' });
    expect(await moved).toBe('too-old');
    await old.stop();
  });

  it('is deleted once, and not while it has children or allocations', async () => {
    const device = await aProvider();
    const region = await aProvider({ parentUuid: device.uuid });
    const consumer = await anAllocation(region.uuid);
    expect(await placement.deleteProvider(device.uuid)).toBe('in-use');
    expect(await placement.deleteProvider(region.uuid)).toBe('in-use');
    await release(consumer);
    expect(await placement.deleteProvider(region.uuid)).toBe('deleted');
    expect(await placement.deleteProvider(region.uuid)).toBe('absent');
  });
});

describe('inventories', () => {
  it("are replaced as a whole, with Placement's defaults for missing fields", async () => {
    const { uuid } = await aProvider();
    const generation = await placement.putInventories(uuid, 0, { VGPU: { total: 4 } });
    await placement.putInventories(uuid, generation, { FPGA: { total: 2, reserved: 2 } });
    expect(await placement.getInventories(uuid)).toEqual({
      generation: 2,
      inventories: {
        FPGA: {
          total: 2,
          reserved: 2,
          min_unit: 1,
          max_unit: 2_147_483_647,
          step_size: 1,
          allocation_ratio: 1,
        },
      },
    });
  });

  it('do not overwrite those of another writer', async () => {
    const { uuid } = await aProvider();
    await placement.putInventories(uuid, 0, { VGPU: { total: 4 } });
    const late = placement.putInventories(uuid, 0, { VGPU: { total: 1 } });
    await expect(late).rejects.toThrow(GenerationConflict);
  });

  it('keep a class that a consumer has allocated', async () => {
    const { uuid } = await aProvider();
    await anAllocation(uuid);
    const { generation = -1 } = (await placement.getInventories(uuid)) ?? {};
    const emptied = placement.putInventories(uuid, generation, {});
    await expect(emptied).rejects.toThrow(InventoryInUse);
  });

  it("of an unknown class are refused with Placement's message", async () => {
    const { uuid } = await aProvider();
    const put = placement.putInventories(uuid, 0, { CUSTOM_NOBODY_MADE: { total: 1 } });
    await expect(put).rejects.toThrow(RequestRefused);
    await expect(put).rejects.toThrow('No such resource class CUSTOM_NOBODY_MADE');
    await expect(put).rejects.toThrow(`${service.url}/resource_providers/${uuid}/inventories`);
  });
});

describe('traits and classes', () => {
  it('are created before their use, any number of times', async () => {
    const { uuid } = await aProvider();
    const early = placement.putTraits(uuid, 0, ['CUSTOM_ENSURED']);
    await expect(early).rejects.toThrow('No such trait');
    await placement.ensureTrait('CUSTOM_ENSURED');
    await placement.ensureTrait('CUSTOM_ENSURED');
    await placement.ensureResourceClass('CUSTOM_ENSURED');
    const traits = ['CUSTOM_ENSURED', 'OWNER_CYBORG'];
    const generation = await placement.putTraits(uuid, 0, traits);
    expect(await placement.getTraits(uuid)).toEqual({ generation, traits });
    await placement.putInventories(uuid, generation, { CUSTOM_ENSURED: { total: 1 } });
  });

  it('that are standard are not looked up', async () => {
    const fakeless = createPlacement({ identity, http: () => Promise.reject(new Error('asked')) });
    await fakeless.ensureTrait('OWNER_CYBORG');
    await fakeless.ensureResourceClass('FPGA');
  });

  it('with an impossible name are refused', async () => {
    await expect(placement.ensureTrait('CUSTOM_lower')).rejects.toThrow(RequestRefused);
    await expect(placement.ensureResourceClass('CUSTOM_a/b')).rejects.toThrow(RequestRefused);
  });

  it('do not overwrite those of another writer', async () => {
    const { uuid } = await aProvider();
    await placement.putInventories(uuid, 0, {});
    await expect(placement.putTraits(uuid, 0, [])).rejects.toThrow(GenerationConflict);
  });
});

describe('allocations', () => {
  it('are listed by provider and by consumer', async () => {
    const { uuid } = await aProvider();
    const consumer = await anAllocation(uuid);
    expect(await placement.getAllocations(consumer)).toEqual({ [uuid]: { FPGA: 1 } });
    expect(await placement.allocationsOf(uuid)).toEqual({ [consumer]: { FPGA: 1 } });
    await release(consumer);
    expect(await placement.getAllocations(consumer)).toEqual({});
  });
});

describe('Placement', () => {
  it('without nested providers is refused with a message', async () => {
    const old = await aService(() => ({
      status: 406,
      body: { errors: [{ status: 406, detail: 'Unacceptable version header: 1.36' }] },
    }));
    const asked = at(old.url).getProvider(crypto.randomUUID());
    await expect(asked).rejects.toMatchObject({ isWorthRetrying: false });
    await expect(asked).rejects.toThrow('microversion 1.36 (Train) or later is needed');
    await old.stop();
  });

  it('at a wrong URL does not count as "no such provider"', async () => {
    const uuid = crypto.randomUUID();
    for (const body of ['<html>', { message: 'no Route matched with those values' }]) {
      const other = await aService(() => ({ status: 404, body }));
      await expect(at(other.url).getProvider(uuid)).rejects.toThrow(RequestRefused);
      await expect(at(other.url).deleteProvider(uuid)).rejects.toThrow(RequestRefused);
      await other.stop();
    }
  });

  it('has no allocations only if it answers 200: gateways have 404s of their own', async () => {
    const gateway = await aService(() => ({ status: 404, body: { message: 'no Route matched' } }));
    const asked = at(gateway.url).getAllocations(crypto.randomUUID());
    await expect(asked).rejects.toThrow(RequestRefused);
    await gateway.stop();
  });

  it('that refuses our token is asked once more with a new one', async () => {
    let forgotten = 1;
    const forgetful = await aService(() =>
      forgotten-- > 0 ? { status: 401 } : { status: 200, body: { resource_providers: [] } },
    );
    expect(await at(forgetful.url).findProviderByName('cmp1')).toBeUndefined();
    const tokens = forgetful.asked.map(({ headers }) => headers['x-auth-token']);
    expect(new Set(tokens).size).toBe(2);
    await forgetful.stop();
  });

  it('is reported as unavailable when it does not answer', async () => {
    const gone = await aService(() => ({ status: 200 }));
    await gone.stop();
    const asked = at(gone.url).getProvider(crypto.randomUUID());
    await expect(asked).rejects.toThrow(ServiceUnavailable);
  });
});

function at(url: string): Placement {
  const elsewhere = createKeystone({
    settings: serviceCredentials('cyborg', cloud.url),
    endpoints: { placement: url },
    clock: Date.now,
    log: silentLog,
  });
  return createPlacement({ identity: elsewhere, http: createHttp() });
}

async function aProvider(options: { readonly parentUuid?: string } = {}) {
  const uuid = crypto.randomUUID();
  return placement.createProvider({ uuid, name: `provider ${uuid}`, ...options });
}

/** One FPGA of the provider, for a new consumer. */
async function anAllocation(providerUuid: string): Promise<string> {
  await placement.putInventories(providerUuid, 0, { FPGA: { total: 2 } });
  const consumer = crypto.randomUUID();
  const answer = await asNova('PUT', `/allocations/${consumer}`, {
    allocations: { [providerUuid]: { resources: { FPGA: 1 } } },
    project_id: 'p',
    user_id: 'u',
    consumer_generation: null,
  });
  expect(answer.status).toBe(204);
  return consumer;
}

async function release(consumer: string): Promise<void> {
  await asNova('DELETE', `/allocations/${consumer}`);
}

function asNova(method: string, path: string, body?: unknown): Promise<Response> {
  const headers = { 'X-Auth-Token': 'nova-token', 'OpenStack-API-Version': 'placement 1.36' };
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  return fetch(`${service.url}${path}`, { method, headers, ...sent });
}
