// The accelerators of the compute node with real drivers: which driver sells each, and what shows
// in the guest that a server holds one.

import assert from 'node:assert/strict';
import { imageOf, interfaceUuid } from '#test/kernel/dfl-images.ts';
import type { Guest } from '#test/kernel/machine/guest.ts';

interface HardwareClass {
  readonly driver: string;
  readonly settings: object;
  readonly resourceClass: string;
  /** Put into Glance, and asked for by the device profile. */
  readonly image?: Buffer;
  /** Beside the resource class, in the device profile. */
  readonly group?: Readonly<Record<string, string>>;
  /** @throws if the device is not as a server needs it */
  holds?(guest: Guest, info: Readonly<Record<string, string>>): Promise<void>;
}

const devices = '/sys/bus/pci/devices';
/** QEMU's. */
const nvme = '0000:01:00.0';
/** QEMU's igb. */
const card = '0000:02:00.0';
/** Slots of fake_pci: fake_vgpu drives the first, fake_dfl the second. */
const gpu = '0001:00:00.0';
const fpga = '0001:00:01.0';
const blankFile = '/var/lib/cyborg-agent/blank.gbs';
const script = '/var/sriov-manage';

function addressOf({ domain, bus, device, function: fn }: Readonly<Record<string, string>>) {
  return `${domain}:${bus}:${device}.${fn}`;
}

export const hardwareClasses: Readonly<Record<string, HardwareClass>> = {
  'nvidia-vgpu': {
    driver: 'nvidia_gpu',
    settings: {
      cards: [{ addresses: gpu, vgpu_type: 'nvidia-558' }],
      attach_unmanaged: true,
      sriov_manage: script,
    },
    resourceClass: 'VGPU',
    group: { 'trait:CUSTOM_NVIDIA_26B9_FAKE_2Q': 'required' },
    holds: async (guest, info) => {
      const type = await guest.read(`${devices}/${addressOf(info)}/nvidia/current_vgpu_type`);
      assert.equal(type, '558');
    },
  },
  'nvme-disk': {
    driver: 'nvme',
    // QEMU's controller has no Sanitize.
    settings: { devices: [nvme], clean: 'format', clean_seconds: 280 },
    resourceClass: 'CUSTOM_SSD',
    holds: async (guest, info) => {
      assert.equal(addressOf(info), nvme);
      assert.equal(await guest.link(`${devices}/${nvme}/driver`), 'vfio-pci');
    },
  },
  'nic-function': {
    driver: 'nic',
    settings: {
      cards: [
        {
          addresses: [card],
          virtual_functions: 2,
          bind_to: 'vfio-pci',
          physical_network: 'physnet1',
        },
      ],
    },
    resourceClass: 'CUSTOM_NIC',
    group: { 'trait:CUSTOM_PHYSNET1': 'required' },
    holds: async (guest, info) => {
      assert.equal(info.physical_network, 'physnet1');
      assert.equal(await guest.link(`${devices}/${addressOf(info)}/physfn`), card);
      assert.equal(await guest.link(`${devices}/${addressOf(info)}/driver`), 'vfio-pci');
    },
  },
  'intel-fpga': {
    driver: 'intel_fpga',
    settings: { cards: [fpga], blank_images: { [interfaceUuid]: blankFile } },
    resourceClass: 'FPGA',
    image: imageOf(0x12345678).bytes,
    group: { 'trait:CUSTOM_FPGA_INTEL': 'required' },
    holds: async (guest, info) => {
      assert.equal(await guest.link(`${devices}/${addressOf(info)}/physfn`), fpga);
      assert.equal(await guest.link(`${devices}/${addressOf(info)}/driver`), 'vfio-pci');
    },
  },
};

/** After each boot: what a distribution's kernel and NVIDIA's driver would have done. */
export async function prepareHardware(guest: Guest): Promise<void> {
  const makeFunctions = `cat "${devices}/$2/sriov_totalvfs" > "${devices}/$2/sriov_numvfs"`;
  await guest.save(script, `#!/bin/sh\n[ "$1" = -e ] || exit 1\n${makeFunctions}\n`);
  await guest.run('chmod', '755', script);
  await guest.save(blankFile, imageOf(0xb1a4b1a4).bytes);
  await guest.run('modprobe', '-a', 'vfio-pci', 'vfio_iommu_type1', 'igbvf');
  const functions = '10de:26b9:030200:8,8086:0b30:120000:1:0b31';
  const place = ['behind=0000:00:04.0', 'window=0x3c000000'];
  await guest.run('modprobe', 'fake_pci', `devs=${functions}`, ...place);
  await guest.run('modprobe', 'fake_dfl', `pci=${fpga}`);
  const parts = ['dfl-fme', 'dfl-afu', 'dfl-fme-mgr', 'dfl-fme-br', 'dfl-fme-region', 'dfl-pci'];
  await guest.run('modprobe', '-a', ...parts);
  await guest.run('modprobe', 'fake_vgpu', 'cards=10de:26b9=vendor', 'capacity=4', 'types=558:2');
}
