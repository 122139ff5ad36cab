import { describe, expect, it } from 'vitest';
import { defineDriver } from '#agent/drivers/contract/define-driver.ts';
import { createNvmeDriver } from '#agent/drivers/nvme/index.ts';
import { nvmeSettings, toAllowList } from '#agent/drivers/nvme/settings.ts';

const devices = ['0000:c1:00.0'];

function faultsOf(given: unknown) {
  const module = defineDriver({ name: 'nvme', settings: nvmeSettings, create: createNvmeDriver });
  const made = module.configure(given);
  return 'faults' in made ? made.faults.map(({ path, message }) => [path.join('.'), message]) : [];
}

describe('the settings of driver nvme', () => {
  it('need devices only, and sanitise them by default', () => {
    expect(nvmeSettings.parse({ devices })).toEqual({
      ...{ devices: [{ address: '0000:c1:00.0' }], bind_to: 'vfio-pci', clean: 'sanitise' },
      ...{ data_may_stay: false, clean_seconds: 14_400, namespaces: 'keep' },
      ...{ boot_partitions: 'zero', tool: '/usr/sbin/nvme' },
      ...{ resource_class: 'CUSTOM_SSD', traits: [] },
    });
  });

  it('offer nothing but NVMe controllers', () => {
    const [byAddress, byId] = toAllowList(
      nvmeSettings.parse({ devices: [...devices, { vendor_id: '0x144D', product_id: 'a80a' }] }),
    );
    expect(byAddress).toMatchObject({ address: '0000:c1:00.0', class: '0108' });
    expect(byId).toMatchObject({ vendor_id: '144d', product_id: 'a80a', class: '0108' });
  });

  it.each(['reset', 'none'])('take clean: %s only with data_may_stay', (clean) => {
    const message = 'erases no data: allow this by data_may_stay, or choose another value';
    expect(faultsOf({ devices, clean })).toEqual([['clean', message]]);
    expect(faultsOf({ devices, clean, data_may_stay: true })).toEqual([]);
  });

  it.each([
    [{}, 'devices', 'must list addresses, or vendor_id and product_id, of NVMe devices'],
    [{ devices: [] }, 'devices', 'must say which devices driver nvme may offer'],
    [
      { devices: [{ address: '0000:c1:00.9' }] },
      'devices.0.address',
      'must be a PCI address, with "*" for parts that may be anything, such as "*:0a:00.*"',
    ],
    [
      { devices: [{ vendor_id: '*' }] },
      'devices.0',
      'must narrow address, vendor_id or product_id, or every NVMe device would match',
    ],
    [{ devices, bind_to: 'nvme' }, 'bind_to', 'must be a VFIO driver, such as vfio-pci'],
    [
      { devices, clean: 'shred' },
      'clean',
      'must be one of sanitise, crypto-erase, block-erase, overwrite, format, reset, none',
    ],
    [{ devices, clean_seconds: 5 }, 'clean_seconds', 'must be at least 60'],
    [{ devices, clean_seconds: 1e6 }, 'clean_seconds', 'must be at most 432000'],
    [{ devices, tool: 'nvme' }, 'tool', 'must be an absolute path'],
    [{ devices, namespaces: 'all' }, 'namespaces', 'must be keep or reset'],
    [{ devices, boot_partitions: 'no' }, 'boot_partitions', 'must be zero, refuse or keep'],
    [
      { devices, resource_class: 'SSD' },
      'resource_class',
      'must be CUSTOM_ and capital letters, digits or "_"',
    ],
  ])('%j has the fault of %s', (given, path, message) => {
    expect(faultsOf(given)).toEqual([[path, message]]);
  });
});
