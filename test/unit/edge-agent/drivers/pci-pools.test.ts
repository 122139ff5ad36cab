// Pools of driver pci: what belongs together is offered, and given, together.

import { afterEach, describe, expect, it } from 'vitest';
import type { Driver } from '#agent/drivers/contract/driver.ts';
import { ownDrivers } from '#agent/drivers/index.ts';
import { parseHost } from '#agent/record/host-record.ts';
import { reportedDevice } from '#core/contracts/report/inventory-report.ts';
import { buildHost } from '#test/hosts/build-host.ts';
import type { GuardedHost } from '#test/support/hosts/guarded-host.ts';

const gpu = (address: string, group: number, more = '') =>
  `${address} 10de:2330 030200 rev a1 subsystem 10de:16c1 driver vfio-pci group ${group} node ${address.startsWith('0000:0') ? 0 : 1} resets flr,bus${more}`;
const nvswitch = (address: string, group: number) =>
  `${address} 10de:22a3 068000 rev a1 subsystem 10de:16c1 driver vfio-pci group ${group} node 0 resets flr,bus`;
const [a, b, c, d] = ['0000:05:00.0', '0000:06:00.0', '0000:15:00.0', '0000:16:00.0'] as const;
const s = '0000:07:00.0';

let host: GuardedHost | undefined;
afterEach(() => host?.remove());

async function driverOf(lines: readonly string[], settings: object): Promise<Driver> {
  host = buildHost(parseHost(`${lines.join('\n')}\n`));
  const configured = ownDrivers.find(({ name }) => name === 'pci')?.configure(settings);
  if (!configured || 'faults' in configured) throw new Error(JSON.stringify(configured));
  return configured.create(await host.context());
}

async function discover(lines: readonly string[], settings: object) {
  const { devices, notOffered = [] } = await (await driverOf(lines, settings)).discover();
  for (const device of Object.values(devices)) reportedDevice.parse(device);
  return {
    devices,
    refused: Object.fromEntries(notOffered.map(({ address, reason }) => [address, reason])),
    units: Object.fromEntries(
      Object.entries(devices).map(([name, { offers }]) => [
        name,
        offers?.attach_handles.map(
          ({ info, locality }) => `${info.bus} ${locality?.numa} ${locality?.set ?? '-'}`,
        ),
      ]),
    ),
  };
}

const gpus = { product_id: '2330', resource_class: 'PGPU', pool: 'hgx0' };
const switches = { product_id: '22a3', resource_class: 'PGPU', pool: 'hgx0' };
const four = [gpu(a, 1), gpu(b, 1), gpu(c, 2), gpu(d, 3)];

describe('a pool', () => {
  it('is one device, with a set for each IOMMU group of several', async () => {
    const { units, refused, devices } = await discover(four, { allow_list: [gpus] });
    expect(units).toEqual({ hgx0: [`05 0 ${a}`, `06 0 ${a}`, '15 1 -', '16 1 -'] });
    expect(refused).toEqual({});
    expect(devices.hgx0).toMatchObject({
      address: 'hgx0',
      type: 'GPU',
      model: 'NVIDIA H100 SXM5 80GB',
      offers: { resource_class: 'PGPU' },
    });
    expect(devices.hgx0).not.toHaveProperty('numa_node');
    expect(devices.hgx0?.std_board_info).not.toContain('numa_node');
  });

  it('is divided by the place that its settings name', async () => {
    const pools = [{ name: 'hgx0', by: 'numa' }];
    const { units, devices } = await discover(four, { allow_list: [gpus], pools });
    expect(units).toEqual({
      'hgx0-0': [`05 0 ${a}`, `06 0 ${a}`],
      'hgx0-1': ['15 1 -', '16 1 -'],
    });
    expect(devices['hgx0-1']).toMatchObject({ numa_node: 1 });
  });

  it('has the switches between its members only in a set with them', async () => {
    const lines = [...four, nvswitch(s, 9)];
    const allow_list = [gpus, switches];
    const pools = [{ name: 'hgx0', sets: [[a, b, c, d, s]] }];
    const { units } = await discover(lines, { allow_list, pools });
    expect(units).toEqual({
      hgx0: [`05 0 ${a}`, `06 0 ${a}`, `07 0 ${a}`, `15 1 ${a}`, `16 1 ${a}`],
    });
    const ready = [{ ...gpus, fabric_ready: true }, switches];
    const alone = await discover(lines, { allow_list: ready });
    expect(alone.units.hgx0).toHaveLength(4);
    expect(alone.refused).toEqual({
      [s]: 'is a bridge, which is offered in a set with other functions only',
    });
    const without = await discover(lines, { allow_list: [{ product_id: '22a3' }] });
    expect(without.refused).toEqual({
      [s]: 'is a bridge, which is offered in a set of a pool only',
    });
  });

  it('offers nothing of a card that fell off the bus, nor its virtual functions', async () => {
    const functions = [1, 2].map((number) =>
      gpu(`0000:05:00.${number}`, number).replace('resets', `physical ${a} resets`),
    );
    const driver = await driverOf([gpu(a, 9).replace('resets', 'vfs 2 resets'), ...functions], {
      allow_list: [{ ...gpus, virtual_functions: true }],
    });
    expect(Object.keys((await driver.discover()).devices)).toEqual(['hgx0']);
    host?.tree.write(`${host.tree.pathOf(a)}/config`, Buffer.alloc(256, 0xff));
    expect((await driver.discover()).devices).toEqual({});
  });

  it('does not take the name of another pool', async () => {
    const allow_list = [{ ...gpus, address: c, pool: 'hgx0-1' }, gpus];
    const pools = [{ name: 'hgx0', by: 'numa' }];
    const { units, refused } = await discover([gpu(a, 1), gpu(c, 2), gpu(d, 3)], {
      allow_list,
      pools,
    });
    expect(units).toMatchObject({ 'hgx0-0': [`05 0 -`] });
    expect(Object.values(refused)).toEqual(['is in a second pool named hgx0-1']);
  });

  it('cleans a member by its own address', async () => {
    const driver = await driverOf(four, { allow_list: [{ ...gpus, clean: 'reset' }] });
    const { devices } = await driver.discover();
    const [, handle] = devices.hgx0?.offers?.attach_handles ?? [];
    const work = { address: 'hgx0', uuid: 'x', type: 'PCI' } as const;
    const clean = async (info = handle?.info ?? {}) =>
      await driver.clean?.({ ...work, info }, () => {});
    expect(await clean()).toMatchObject({ cleaned_by: 'reset' });
    await expect(clean({ ...handle?.info, bus: '77' })).rejects.toThrow(
      '0000:77:00.0 is no longer',
    );
  });

  it.each<[string, readonly string[], object, Record<string, string>]>([
    [
      'a set whose member is missing',
      [gpu(a, 1), gpu(b, 2)],
      { allow_list: [gpus], pools: [{ name: 'hgx0', sets: [[b, c]] }] },
      { [b]: `belongs with ${c}, which is not on this host, or not in pool hgx0` },
    ],
    [
      'a set whose member is in use',
      [gpu(a, 1), gpu(b, 2), gpu(c, 3, ' boot-vga 1 drm card0').replace('vfio-pci', 'nvidia')],
      { allow_list: [gpus], pools: [{ name: 'hgx0', sets: [[b, c]] }] },
      { [b]: `belongs with ${c}, which`, [c]: '' },
    ],
    [
      'members of several models',
      [gpu(a, 1), gpu(b, 2).replace('10de:2330', '10de:2331')],
      { allow_list: [{ ...gpus, product_id: undefined, vendor_id: '10de' }] },
      {
        [a]: 'is in pool hgx0, whose members differ: 10de:2330; 10de:2331',
        [b]: 'is in pool hgx0',
      },
    ],
    [
      'members of several resource classes',
      [gpu(a, 1), gpu(b, 2)],
      { allow_list: [{ ...gpus, address: a, resource_class: 'CUSTOM_A' }, gpus] },
      { [a]: 'resource classes CUSTOM_A, PGPU', [b]: 'resource classes' },
    ],
    [
      'a set in two places of a pool by place',
      [gpu(a, 1), gpu(c, 1)],
      { allow_list: [gpus], pools: [{ name: 'hgx0', by: 'numa' }] },
      { [a]: 'belongs with a function of another numa', [c]: 'belongs with' },
    ],
    [
      'a member whose place is not known',
      [gpu(a, 1).replace('node 0', 'node -1')],
      { allow_list: [gpus], pools: [{ name: 'hgx0', by: 'numa' }] },
      { [a]: 'is in a pool by numa, and its numa is not known' },
    ],
  ])('offers nothing of %s', async (_case, lines, settings, reasons) => {
    const { refused, units } = await discover(lines, settings);
    expect(Object.keys(refused).sort()).toEqual(Object.keys(reasons).sort());
    for (const [address, reason] of Object.entries(reasons)) {
      expect(refused[address]).toContain(reason);
    }
    const offered = Object.values(units).flat();
    for (const address of Object.keys(reasons)) {
      expect(offered.some((unit) => unit?.startsWith(address.slice(5, 7)))).toBe(false);
    }
  });

  it.each<[string, object, string]>([
    ['a name that is no name', { allow_list: [{ ...gpus, pool: 'HGX 0' }] }, 'lower case letters'],
    ['components in a pool', { allow_list: [{ ...gpus, components: [] }] }, 'no components'],
    ['an unknown place', { pools: [{ name: 'p', by: 'rack' }] }, 'host, numa, root, switch'],
    ['a set of one', { pools: [{ name: 'p', sets: [[a]] }] }, 'two functions'],
    [
      'a function in two sets',
      {
        pools: [
          {
            name: 'p',
            sets: [
              [a, b],
              [b, c],
            ],
          },
        ],
      },
      'twice',
    ],
    ['a pool twice', { pools: [{ name: 'p' }, { name: 'p' }] }, 'twice'],
  ])('refuses settings with %s', (_case, settings, sentence) => {
    const pci = ownDrivers.find(({ name }) => name === 'pci');
    const configured = pci?.configure({ allow_list: [gpus], ...settings });
    expect(JSON.stringify(configured)).toContain(sentence);
  });
});
