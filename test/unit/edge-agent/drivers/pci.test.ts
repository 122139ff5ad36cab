import { beforeEach, describe, expect, it } from 'vitest';
import { reportedDevice } from '#core/contracts/report/inventory-report.ts';
import { DriverHost } from '#test/support/hosts/driver-host.ts';
import { aGuardedHost } from '#test/support/hosts/guarded-host.ts';
import { ownDriver } from '#test/support/hosts/own-driver.ts';
import type { SysfsTree } from '#test/support/hosts/sysfs.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const address = '0000:3b:00.0';
const host = perTest(aGuardedHost);
let tree: SysfsTree;

beforeEach(() => {
  tree = host.tree;
});

async function driverOf(...allowList: object[]) {
  const driver = await host.pciDriver(allowList);
  const devices = async () => (await driver.discover()).devices;
  return { ...driver, log: host.log, devices };
}

describe('driver pci', () => {
  it('describes a function as Cyborg does, except for its type and model', async () => {
    tree.addFunction({ address, numaNode: 1 });
    const { [address]: device } = await (await driverOf({ vendor_id: '10de' })).devices();
    expect(reportedDevice.parse(device)).toEqual({
      address,
      driver: 'pci',
      type: 'GPU',
      vendor: '10de',
      product: '2235',
      model: 'NVIDIA A40',
      std_board_info:
        '{"product_id":"2235","subsystem_id":"10de:145a","class":"0x030200",' +
        '"revision":"0xa1","numa_node":1}',
      vendor_board_info: 'miss_vb_info',
      numa_node: 1,
      offers: {
        resource_class: 'CUSTOM_PCI',
        traits: ['CUSTOM_PCI_NVIDIA', 'CUSTOM_PCI_PRODUCT_ID_2235'],
        attach_handles: [
          { type: 'PCI', info: { domain: '0000', bus: '3b', device: '00', function: '0' } },
        ],
      },
      regions: [],
    });
  });

  it('does not show an unknown NUMA node', async () => {
    tree.addFunction({ address, numaNode: -1 });
    const { [address]: device } = await (await driverOf({ vendor_id: '10de' })).devices();
    expect(device).not.toHaveProperty('numa_node');
    expect(device?.std_board_info).not.toContain('numa_node');
  });

  it('names an address of the settings where no device is, as the agent starts it', async () => {
    const settings = { allow_list: [{ address, vendor_id: '10de' }] };
    const agent = new DriverHost(ownDriver('pci'), () => ({}));
    try {
      expect(await agent.start(settings)).toEqual({});
      expect(await agent.reasons()).toEqual({ [address]: 'is not on this host' });
    } finally {
      agent.remove();
    }
  });

  it('fails when sysfs is not mounted', async () => {
    tree.remove();
    const driver = await driverOf();
    await expect(driver.discover()).rejects.toThrow('sysfs is not mounted');
  });

  it('has no trait for a vendor that has no name in Cyborg', async () => {
    tree.addFunction({ address, vendor: '144d', product: 'a80a', classCode: '010802' });
    const { [address]: device } = await (await driverOf({ vendor_id: '144d' })).devices();
    expect(device?.offers?.traits).toEqual(['CUSTOM_PCI_PRODUCT_ID_A80A']);
  });

  it('offers what the entry says', async () => {
    tree.addFunction({ address });
    const entry = { vendor_id: '10de', resource_class: 'PGPU', traits: ['CUSTOM_FAST'] };
    const { [address]: device } = await (await driverOf(entry)).devices();
    expect(device?.offers).toMatchObject({
      resource_class: 'PGPU',
      traits: ['CUSTOM_PCI_NVIDIA', 'CUSTOM_PCI_PRODUCT_ID_2235', 'CUSTOM_FAST'],
    });
  });

  it('offers virtual functions as handles of their card', async () => {
    const virtual = { vendor: '8086', product: '154c', classCode: '020000' };
    tree
      .addFunction({ address, ...virtual, product: '1572', driver: 'i40e', sriovTotalvfs: 64 })
      .addVirtualFunctions(address, 9, virtual);
    const driver = await driverOf({ product_id: '154c', virtual_functions: true });
    const { [address]: device } = await driver.devices();
    expect(device).toMatchObject({ address, type: 'NIC', product: '1572' });
    expect(device?.offers?.traits).toEqual(['CUSTOM_PCI_INTEL', 'CUSTOM_PCI_PRODUCT_ID_154C']);
    const handles = device?.offers?.attach_handles.map(({ info }) => info);
    expect(handles).toHaveLength(9);
    expect(handles?.at(-1)).toEqual({ domain: '0000', bus: '3b', device: '01', function: '1' });
  });

  it('reports a domain of five digits', async () => {
    tree.addFunction({ address: '10000:e1:00.0' });
    const { '10000:e1:00.0': device } = await (await driverOf({ vendor_id: '10de' })).devices();
    expect(device?.offers?.attach_handles[0]?.info.domain).toBe('10000');
  });

  it('does not offer a device that fell off the bus', async () => {
    tree.addFunction({ address, config: Buffer.alloc(256, 0xff) });
    const { discover } = await driverOf({ vendor_id: '10de' });
    const notOffered = [{ address, reason: 'fell off the bus' }];
    expect(await discover()).toEqual({ devices: {}, notOffered });
  });

  it('does not read a suspended device, which would wake it', async () => {
    tree.addFunction({ address, config: Buffer.alloc(256, 0xff), powerState: 'D3cold' });
    expect(await (await driverOf({ vendor_id: '10de' })).devices()).toHaveProperty([address]);
  });

  it('names what it does not offer, and why', async () => {
    tree.addFunction({ address, iommuGroup: undefined });
    tree.addFunction({ address: '0000:5e:00.0', resetMethod: undefined });
    tree.addFunction({ address: '0000:5f:00.0', classCode: 'ff0000' });
    const { discover } = await driverOf({ vendor_id: '10de' });
    expect(await discover()).toEqual({
      devices: {},
      notOffered: [
        { address, reason: 'has no IOMMU group: the IOMMU is off' },
        {
          address: '0000:5e:00.0',
          reason: 'cannot be cleaned between guests: it has no reset method',
        },
        { address: '0000:5f:00.0', reason: 'has class ff0000, which needs a device_type' },
      ],
    });
  });

  it('says how long cleaning takes, where the entry asks for it', async () => {
    tree.addFunction({ address });
    const { [address]: device } = await (
      await driverOf({ vendor_id: '10de', clean: 'reset' })
    ).devices();
    expect(device?.offers?.attach_handles[0]?.clean_seconds).toBe(300);
  });
});
