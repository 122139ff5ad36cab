// Settings that drivers refuse: the path of the fault, and a part of its sentence.

import { describe, expect, it } from 'vitest';
import { fakeInterface } from '#test/support/hosts/gbs.ts';
import { ownDriver } from '#test/support/hosts/own-driver.ts';

const addresses = '0000:3b:00.0';
const onePath = 'must be a PCI address, such as "0000:3b:00.0"';
const twice = 'must not name a card more than once';
const vfio = 'must be a VFIO driver, such as vfio-pci';
const custom = 'must be CUSTOM_ and capital letters, digits or "_"';

type Row = readonly [settings: object, path: string, sentence: string];

/** The settings of a driver of cards with the only card so. */
const card = (given: object) => ({ cards: [{ addresses, ...given }] });
const fw = { name: 'fw', version: 'fw.mgmt' };
const firmware = (given: object, more = {}) => card({ components: [{ ...fw, ...given }], ...more });
const pool = (given: object, more = {}) => ({
  pools: [{ parents: addresses, type: 'a', ...given }],
  ...more,
});
const board = (given: object) => ({
  boards: [{ manager: 'fpga0', interface: fakeInterface, ...given }],
});
const nvme = (given: object) => ({ devices: [addresses], ...given });
const intel = (given: object) => ({ cards: [addresses], ...given });
const alveo = (given: object) => ({ ...card({}), data_may_stay: true, ...given });
const divided = (given: object) => card({ virtual_functions: 2, ...given });
const vgpu = (given: object) => card({ vgpu_type: 'nvidia-1147', ...given });
const model = (given: object) => ({ devices: [given] });

const network = 'must be 1 to 64 letters, digits, "_", ".", ":" and "-", a letter or digit first';
const services = 'must be a list of sym, asym, dc, dcc, decomp, each once; dcc alone';
const narrowed = 'must narrow address, vendor_id or product_id, or every NVMe device would match';
const erasing =
  'must be one of sanitise, crypto-erase, block-erase, overwrite, format, reset, none';
const mixed = { vram_mib: 1, memory_partition: 'NPS1' };
const attach = '0000:01:00.0';

const refusals: Readonly<Record<string, readonly Row[]>> = {
  nvme: [
    [{}, 'devices', 'must list addresses, or vendor_id and product_id, of NVMe devices'],
    [nvme({ devices: [] }), 'devices', 'must say which devices driver nvme may offer'],
    [nvme({ devices: [{ address: '0000:c1:00.9' }] }), 'devices.0.address', 'such as "*:0a:00.*"'],
    [nvme({ devices: [{ vendor_id: '*' }] }), 'devices.0', narrowed],
    [nvme({ bind_to: 'nvme' }), 'bind_to', vfio],
    [nvme({ clean: 'shred' }), 'clean', erasing],
    [nvme({ clean: 'reset' }), 'clean', 'erases no data: allow this by data_may_stay'],
    [nvme({ clean: 'none' }), 'clean', 'erases no data: allow this by data_may_stay'],
    [nvme({ clean_seconds: 5 }), 'clean_seconds', 'must be at least 60'],
    [nvme({ clean_seconds: 1e6 }), 'clean_seconds', 'must be at most 432000'],
    [nvme({ tool: 'nvme' }), 'tool', 'must be an absolute path'],
    [nvme({ namespaces: 'all' }), 'namespaces', 'must be keep or reset'],
    [nvme({ boot_partitions: 'no' }), 'boot_partitions', 'must be zero, refuse or keep'],
    [nvme({ resource_class: 'SSD' }), 'resource_class', custom],
  ],
  nic: [
    [firmware({ name: 'BMC' }), 'cards.0.components.0.name', 'must have lower case letters'],
    [firmware({ version: '--all' }), 'cards.0.components.0.version', 'must be a name of devlink'],
    [firmware({ flash: '../fw' }), 'cards.0.components.0.flash', 'must be a name of devlink'],
    [firmware({ runs_after: 'reset' }), 'cards.0.components.0.runs_after', 'must be reload or'],
    [firmware({}, { bind_to: 'vfio-pci' }), 'cards.0.components', 'shows no firmware'],
    [card({ components: [fw, fw] }), 'cards.0.components', 'must not name a component twice'],
    [{}, 'cards', 'must list the network cards that are offered'],
    [{ cards: [] }, 'cards', 'must list the network cards that are offered'],
    [{ cards: [{}] }, 'cards.0.addresses', 'must name a PCI address'],
    [card({ addresses: 'ens1' }), 'cards.0.addresses.0', onePath],
    [
      { cards: [{ addresses }, { addresses: [addresses] }] },
      'cards.1.addresses',
      `duplicate address: ${addresses}`,
    ],
    [card({ physical_network: 'a b' }), 'cards.0.physical_network', network],
    [card({ virtual_functions: 0 }), 'cards.0.virtual_functions', 'a number from 1 to 65535'],
    [card({ bind_to: 'i40e' }), 'cards.0.bind_to', vfio],
    [card({ clean: 'wipe' }), 'cards.0.clean', 'must be restore, reset or none'],
    [card({ resource_class: 'PGPU' }), 'cards.0.resource_class', custom],
  ],
  qat: [
    [{}, 'cards', 'must list the QAT cards that are offered'],
    [{ cards: [{}] }, 'cards.0.addresses', 'must name a PCI address'],
    [{ cards: [{ addresses }, { addresses }] }, 'cards', twice],
    [card({ services: ['rsa'] }), 'cards.0.services.0', services],
    [card({ services: [] }), 'cards.0.services', services],
    [card({ services: ['dc', 'dc'] }), 'cards.0.services', services],
    [card({ services: ['dcc', 'sym'] }), 'cards.0.services', services],
    [card({ services: ['dc'], virtual_functions: false }), 'cards.0.services', 'is for virtual'],
    [card({ virtual_functions: 4 }), 'cards.0.virtual_functions', 'must be true or false'],
    [card({ clean: 'wipe' }), 'cards.0.clean', 'must be none or reset'],
  ],
  intel_fpga: [
    [{}, 'cards', 'must list the cards'],
    [{ cards: [] }, 'cards', 'must list the cards'],
    [{ cards: ['5e:00'] }, 'cards.0.addresses.0', onePath],
    [{ cards: [addresses, addresses] }, 'cards', twice],
    [card({ bind_to: 'dfl-pci' }), 'cards.0.bind_to', 'must be a VFIO driver'],
    [card({ virtual_functions: 2 }), 'cards.0.virtual_functions', 'must be true or false'],
    [intel({ clean: 'wipe' }), 'clean', 'must be one of blank, reset, none'],
    [intel({ clean: 'reset' }), 'clean', 'allow this by data_may_stay, or choose blank'],
    [intel({ blank_images: { x: '/blank' } }), 'blank_images', 'interface uuids as keys'],
    [
      intel({ blank_images: { [fakeInterface]: 'b' } }),
      `blank_images.${fakeInterface}`,
      'absolute',
    ],
    [intel({ fpgaconf: '/usr/../fpgaconf' }), 'fpgaconf', 'must not go up'],
    [intel({ firmware: 1 }), '', 'firmware'],
  ],
  fpga_manager: [
    [
      board({ manager: '../fpga0' }),
      'boards.0.manager',
      'must be a name in /sys/class/fpga_manager',
    ],
    [board({ interface: 'kria' }), 'boards.0.interface', 'must be a uuid'],
    [board({ images: 'half' }), 'boards.0.images', 'must be full or partial'],
    [board({ attach: 'x' }), 'boards.0.attach', 'must be a PCI address'],
    [board({ attach }), 'boards.0.blank_image', 'must name an image, or clean must be none'],
    [board({ attach, clean: 'none' }), 'boards.0.clean', 'allow this by data_may_stay'],
    [board({ blank_image: 'blank' }), 'boards.0.blank_image', 'must be an absolute path'],
    [board({ clean: 'reset' }), 'boards.0.clean', 'must be one of blank, none'],
  ],
  gpu_vf: [
    [{}, 'cards', 'must list the cards that are divided'],
    [divided({ virtual_functions: 0 }), 'cards.0.virtual_functions', 'a number from 1 to 255'],
    [{ cards: [...divided({}).cards, ...divided({}).cards] }, 'cards', twice],
    [divided({ profile: { vram_mib: 0 } }), 'cards.0.profile.vram_mib', 'from 1 to 16777216'],
    [divided({ profile: { sched_priority: 'high' } }), 'cards.0.profile.sched_priority', 'low or'],
    [divided({ profile: mixed }), 'cards.0.profile.vram_mib', 'memory_partition is for AMD GPUs'],
    [divided({ resource_class: 'FPGA' }), 'cards.0.resource_class', 'must be VGPU, PGPU or CUSTOM'],
    [divided({ name: '../x' }), 'cards.0.name', 'must be 1 to 32 letters, digits, "_", "." or "-"'],
    [divided({ bind_to: 'xe' }), 'cards.0.bind_to', vfio],
  ],
  xilinx_fpga: [
    [{ data_may_stay: true }, 'cards', 'must list the cards that are offered'],
    [card({}), 'data_may_stay', 'must be true: the next holder may read what is left'],
    [alveo({ cards: [{ addresses }, { addresses }] }), 'cards', twice],
    [alveo(card({ addresses: [addresses, '0000:3b:00.1'] })), 'cards', twice],
    [alveo({ xbutil: 'xbutil' }), 'xbutil', 'must be an absolute path'],
    [alveo({ xbmgmt: '/opt/../bin/sh' }), 'xbmgmt', 'must not go up'],
    [alveo({ tool_seconds: 1 }), 'tool_seconds', 'must be a number from 10 to 3600'],
    [alveo(card({ addresses: 'd8:00:0' })), 'cards.0.addresses.0', 'must be a PCI address'],
  ],
  mdev: [
    [{}, 'pools', 'must list the parents'],
    [{ pools: [] }, 'pools', 'must list the parents'],
    [pool({ parents: '3b:00' }), 'pools.0.parents.0', 'must be a PCI address'],
    [pool({ type: '../x' }), 'pools.0.type', 'must be the name of a directory'],
    [pool({ resource_class: 'FPGA' }), 'pools.0.resource_class', 'must be VGPU'],
    [pool({ parents: [addresses, addresses] }), 'pools', 'must not name a parent more than once'],
    [pool({}, { made: 'soon' }), 'made', 'must be ahead'],
  ],
  nvidia_gpu: [
    [{ cards: [] }, 'cards', 'must list the cards'],
    [card({ addresses: '3b' }), 'cards.0.addresses.0', 'must be a PCI address'],
    [vgpu({ vgpu_type: 'A40-2Q' }), 'cards.0.vgpu_type', 'must be a type, such as "nvidia'],
    [vgpu({ reset: true }), 'cards.0.reset', 'is for whole cards'],
    [vgpu({ bind_to: 'vfio-pci' }), 'cards.0.bind_to', 'stay on the driver'],
    [vgpu({ resource_class: 'PGPU' }), 'cards.0.resource_class', 'must be VGPU or CUSTOM'],
    [card({ resource_class: 'VGPU' }), 'cards.0.resource_class', 'PGPU or CUSTOM_... without vgpu'],
    [{ cards: [...vgpu({}).cards, { addresses }] }, 'cards', 'more than once'],
    [{ ...vgpu({}), sriov_manage: 'sriov-manage' }, 'sriov_manage', 'absolute path'],
  ],
  ai_chip: [
    [{}, 'devices', 'must say which models'],
    [{ devices: [] }, 'devices', 'must say which models'],
    [model({}), 'devices.0', 'must name a model, addresses'],
    [model({ model: 'X1' }), 'devices.0.model', 'Ascend 310, Ascend'],
    [model({ addresses: '*:3b:*' }), 'devices.0.addresses.0', 'must be a PCI address'],
    [
      model({ model: 'MI300X', virtual_functions: 2 }),
      'devices.0.virtual_functions',
      'needs a model whose function is virtual',
    ],
    [model({ model: 'MI300X', bind_to: 'amdgpu' }), 'devices.0.bind_to', 'must be a VFIO driver'],
  ],
};

describe.each(Object.entries(refusals))('driver %s refuses', (driver, rows) => {
  it.each(rows)('%j', (settings, path, sentence) => {
    const made = ownDriver(driver).configure(settings);
    const faults = 'faults' in made ? made.faults : [];
    expect(faults.map((fault) => [fault.path.join('.'), fault.message])).toEqual([
      [path, expect.stringContaining(sentence)],
    ]);
  });
});
