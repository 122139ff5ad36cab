// Maintenance and a concurrent report of the same device: the status that the operator set stays.

import { beforeAll, expect, it } from 'vitest';
import { providerUuid } from '#core/domain/ids.ts';
import { deviceUuid } from '#core/domain/report/device-plan.ts';
import { syncProviders } from '#core/operations/placement/sync-providers.ts';
import { withClients, withStore } from '#test/support/deps.ts';
import { aDevice, aHandle } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const host = 'cmp1';
const provider = providerUuid(`${host}_FakeDevice`);
const card = aDevice({});
const path = `/v2/devices/${deviceUuid(host, card.address)}`;

const world = perFile(startWorld);

beforeAll(async () => {
  const { placement } = world.deps.clients;
  await placement.createProvider({ uuid: '00000000-0000-4000-8000-00000000c0de', name: host });
});

async function set(status: 'enable' | 'disable'): Promise<void> {
  expect((await world.ask('POST', `${path}/${status}`)).status).toBe(204);
}

async function statusShown(): Promise<string> {
  return (await world.ask('GET', path, { microversion: 'accelerator 2.3' })).json.status;
}

it('a device that is disabled while its rows are deleted is in maintenance when it returns', async () => {
  await world.report(host, [card]);
  await world.report(host, []);
  const { placement } = world.deps.clients;
  let isTold = false;
  const getProvider: typeof placement.getProvider = async (uuid) => {
    if (!isTold) await set('disable');
    isTold = true;
    return placement.getProvider(uuid);
  };
  await syncProviders(withClients(world.deps, { placement: { getProvider } }), provider, 1);
  await world.report(host, [card]);
  expect(await statusShown()).toBe('maintaining');

  await world.report(host, []);
  await set('enable');
  await syncProviders(world.deps, provider, 1);
  expect((await world.ask('GET', path)).status).toBe(404);
});

it('a region that appears while its device is enabled is enabled, too', async () => {
  await world.report(host, [card]);
  await set('disable');
  const { inventory } = world.deps.store;
  const putDevice: typeof inventory.putDevice = async (plan) => {
    await set('enable');
    await inventory.putDevice(plan);
  };
  const own = { resource_class: 'FPGA', traits: [], attach_handles: [aHandle(9, 'PCI')] };
  const board = aDevice({ regions: [{ name: 'region0', kind: 'reconfigurable-region', ...own }] });
  await world.report(host, [board], {}, withStore(world.deps, { inventory: { putDevice } }));
  await syncProviders(world.deps, provider, 1);
  const region = providerUuid(`${host}_FakeDevice_region0`);
  expect((await inventory.provider(region))?.deployable.deviceStatus).toBe('enabled');
});

it('a device that is disabled while Placement is updated stays disabled in all its parts', async () => {
  await world.report(host, [card]);
  await set('enable');
  const { inventory } = world.deps.store;
  const seen: (string | undefined)[] = [];
  const overtaken = withStore(world.deps, {
    inventory: {
      host: async (name) => {
        const read = await inventory.host(name);
        if (seen.length === 0) await set('disable');
        return read;
      },
      copyStatus: async (...given) => {
        await inventory.copyStatus(...given);
        seen.push((await inventory.provider(provider))?.deployable.deviceStatus);
      },
    },
  });
  await syncProviders(overtaken, provider, 1);
  expect(new Set(seen)).toEqual(new Set(['maintaining']));
});
