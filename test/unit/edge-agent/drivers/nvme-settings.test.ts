import { describe, expect, it } from 'vitest';
import { nvmeSettings, toAllowList } from '#agent/drivers/nvme/settings.ts';

const devices = ['0000:c1:00.0'];

describe('the settings of driver nvme', () => {
  it('need devices only, and sanitise them by default', () => {
    expect(nvmeSettings.parse({ devices })).toEqual({
      devices: [{ address: '0000:c1:00.0' }],
      bind_to: 'vfio-pci',
      clean: 'sanitise',
      data_may_stay: false,
      clean_seconds: 14_400,
      namespaces: 'keep',
      boot_partitions: 'zero',
      tool: '/usr/sbin/nvme',
      resource_class: 'CUSTOM_SSD',
      traits: [],
    });
  });

  it('offer nothing but NVMe controllers', () => {
    const [byAddress, byId] = toAllowList(
      nvmeSettings.parse({ devices: [...devices, { vendor_id: '0x144D', product_id: 'a80a' }] }),
    );
    expect(byAddress).toMatchObject({ address: '0000:c1:00.0', class: '0108' });
    expect(byId).toMatchObject({ vendor_id: '144d', product_id: 'a80a', class: '0108' });
  });

  it.each(['reset', 'none'])('take clean: %s with data_may_stay', (clean) => {
    expect(nvmeSettings.parse({ devices, clean, data_may_stay: true })).toMatchObject({ clean });
  });
});
