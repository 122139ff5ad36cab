// Maintenance: no new bind, all of the device reserved in Placement, and what is bound stays.

import { beforeAll, describe, expect, it } from 'vitest';
import { providerUuid } from '#core/domain/ids.ts';
import { instanceOf } from '#test/support/builders.ts';
import { aDevice, aHandle } from '#test/support/reports.ts';
import { hasLeft } from '#test/support/stored/allocations.ts';
import { refused, sentenceOf } from '#test/support/stored/refusals.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const provider = providerUuid('cmp1_FakeDevice');
const region = providerUuid('cmp1_FakeDevice_region0');
const world = perFile(() => startWorld({ consumers: true }));
let path: string;

const board = aDevice({
  regions: [
    {
      name: 'region0',
      kind: 'reconfigurable-region',
      resource_class: 'FPGA',
      traits: [],
      attach_handles: [aHandle(9, 'PCI')],
    },
  ],
});

beforeAll(async () => {
  await world.startComputeNode('cmp1');
  await world.report('cmp1', [board]);
  await world.createProfile('fpga', { 'resources:FPGA': '1' });
  const { json } = await world.ask('GET', '/v2/devices');
  path = `/v2/devices/${json.devices[0].uuid}`;
});

async function statusShown(): Promise<string> {
  return (await world.ask('GET', path, { microversion: 'accelerator 2.3' })).json.status;
}

async function reservedOf(uuid: string): Promise<number | undefined> {
  return (await world.deps.clients.placement.getInventories(uuid))?.inventories.FPGA?.reserved;
}

async function bind(instance: string): Promise<number> {
  const arqs = await world.createArqs('fpga');
  return (await world.bindArqs(arqs, { provider, instance })).status;
}

const patch = (value: string, more: object = {}) => ({
  body: [{ op: 'replace', path: '/status', value, ...more }],
});

describe('a device', () => {
  it('is put into maintenance with all its providers, and enabled again', async () => {
    expect(await bind(instanceOf(1))).toBe(202);
    expect((await world.ask('POST', `${path}/disable`)).status).toBe(204);
    expect(await statusShown()).toBe('maintaining');
    await eventually(() => reservedOf(provider)).toBe(2);
    await eventually(() => reservedOf(region)).toBe(1);
    expect(await bind(instanceOf(2))).toBe(409);
    expect((await world.arqsOf(instanceOf(1))).json.arqs).toMatchObject([{ state: 'Bound' }]);

    expect((await world.ask('POST', `${path}/enable`)).status).toBe(204);
    await eventually(() => reservedOf(provider)).toBe(0);
    expect(await bind(instanceOf(3))).toBe(202);
  });

  it('takes the patch of the specification, with a reason', async () => {
    const { status, text } = await world.ask('PATCH', path, patch('disabled', { reason: 'fan' }));
    expect([status, text]).toEqual([204, '']);
    expect(await statusShown()).toBe('maintaining');
    await world.ask('PATCH', path, patch('enabled'));
    expect(await statusShown()).toBe('enabled');
  });

  it('stays in maintenance when its host describes it again', async () => {
    await world.ask('PATCH', path, patch('disabled'));
    const changed = { ...board, model: 'another' };
    await world.report('cmp1', [changed]);
    expect(await statusShown()).toBe('maintaining');
  });

  it('is disabled although one of its regions is gone and the next report is still to come', async () => {
    const bare = { ...board, regions: [] };
    await world.report('cmp1', [bare]);
    await eventually(() => world.deps.store.inventory.provider(region)).toBe(undefined);
    expect((await world.ask('PATCH', path, patch('enabled'))).status).toBe(204);
    expect(await statusShown()).toBe('enabled');
    await world.report('cmp1', [board]);
  });

  it('is still in maintenance when its host reports it again', async () => {
    await world.ask('PATCH', path, patch('disabled', { reason: 'loses its link' }));
    for (const number of [1, 3]) await world.deleteArqsOf(instanceOf(number));
    await world.report('cmp1', []);
    await eventually(() => hasLeft(world, provider)).toBe(true);
    await world.report('cmp1', [board]);
    expect(await statusShown()).toBe('maintaining');
    await eventually(() => reservedOf(provider)).toBe(2);

    // After it is enabled it is deleted like any other gone device.
    await world.report('cmp1', []);
    await eventually(() => reservedOf(provider)).toBe(undefined);
    expect((await world.ask('PATCH', path, patch('enabled'))).status).toBe(204);
    const status = async () => (await world.ask('GET', path)).status;
    await eventually(status).toBe(404);
    // Its parts go after it.
    for (const part of [provider, region]) {
      await eventually(() => world.deps.store.inventory.provider(part)).toBe(undefined);
    }
  });

  it.each([
    ['another status', patch('broken'), 400],
    ['another path', { body: [{ op: 'replace', path: '/model', value: 'enabled' }] }, 400],
    ['two operations', { body: [...patch('enabled').body, ...patch('enabled').body] }, 400],
    ['no admin', { ...patch('enabled'), token: 'manager-token' }, 403],
  ])('refuses %s', async (_case, ask, status) => {
    const answer = await refused(world, 'PATCH', path, ask);
    expect([answer.status, sentenceOf(answer)]).toEqual([status, expect.any(String)]);
  });

  it('of an unknown uuid is 404', async () => {
    const missing = '/v2/devices/99999999-0000-4000-8000-000000000009/disable';
    expect((await world.ask('POST', missing)).status).toBe(404);
  });
});
