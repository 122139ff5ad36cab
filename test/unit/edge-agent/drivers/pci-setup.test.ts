import { readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPciDriver } from '#agent/drivers/pci.ts';
import { pciAllowList } from '#agent/drivers/pci-allow-list.ts';
import { HardwareError } from '#agent/hardware/errno.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { aGuardedHost, type GuardedHost } from '#test/support/guarded-host.ts';

const card = '0000:3b:00.0';
const first = '0000:3b:00.1';
const virtual = { vendor: '8086', product: '154c', classCode: '020000', driver: undefined };
const entry = { vendor_id: '8086', product_id: '154c', virtual_functions: 2 };

let host: GuardedHost;
let writes: string[];
beforeEach(() => {
  host = aGuardedHost();
  writes = [];
  host.tree
    .addFunction({ address: card, ...virtual, product: '1572', driver: 'i40e', sriovTotalvfs: 4 })
    .write(`${host.tree.pathOf(card)}/sriov_vf_device`, '154c\n')
    .write(`${host.tree.pathOf(card)}/sriov_drivers_autoprobe`, '1\n')
    .write('bus/pci/drivers_probe', '');
});
afterEach(() => host.remove());

const textOf = (path: string) => readFileSync(join(host.tree.root, path), 'utf8').trim();
const addressesNow = () => host.sysfs.list('bus/pci/devices') ?? [];
const virtualNow = () => addressesNow().filter((each) => each !== card);

/** The kernel's side of a write, with its errors. */
function kernel(fail: { readonly made?: number; readonly probe?: boolean } = {}): Hardware {
  const { tree, hardware } = host;
  return {
    ...hardware,
    writeText: async (device, path, text) => {
      const name = path.split('/').at(-1) ?? '';
      writes.push(`${name} ${text.trim()}`);
      await hardware.writeText(device, path, text);
      if (name === 'sriov_numvfs') {
        const asked = Number(text);
        if (asked > 0 && virtualNow().length > 0) throw new HardwareError('EBUSY', path);
        for (const each of virtualNow()) tree.removeFunction(each);
        if (asked > 0) tree.addVirtualFunctions(card, fail.made ?? asked, virtual);
        tree.write(path, `${fail.made ?? asked}\n`);
      }
      if (name === 'unbind') rmSync(join(tree.root, path, '../../driver'), { force: true });
      if (name === 'drivers_probe' && fail.probe !== false) {
        const folder = tree.pathOf(text);
        const driver = textOf(`${folder}/driver_override`);
        const link = join(tree.root, folder, 'driver');
        rmSync(link, { force: true });
        tree.write(`${folder}/uevent`, `DRIVER=${driver}\n${textOf(`${folder}/uevent`)}\n`);
        symlinkSync(`../../../bus/pci/drivers/${driver}`, link);
      }
    },
  };
}

async function driverOf(entries: readonly object[], hardware: Hardware = kernel()) {
  const { sysfs, log } = host;
  const guards = await host.guards();
  return createPciDriver({
    ...{ sysfs, hardware, guards, log },
    allowList: pciAllowList.parse(entries),
  });
}

async function setUp(entries: readonly object[], hardware?: Hardware) {
  return await (await driverOf(entries, hardware)).setUp?.();
}

describe('the number of virtual functions', () => {
  it('becomes what the entry asks for, without drivers for them', async () => {
    expect(await setUp([entry])).toEqual([]);
    expect(virtualNow()).toHaveLength(2);
    expect(writes).toEqual(['sriov_drivers_autoprobe 0', 'sriov_numvfs 2']);
  });

  it('stays when it is already so', async () => {
    await setUp([entry]);
    writes = [];
    expect(await setUp([entry])).toEqual([]);
    expect(writes).toEqual([]);
  });

  it('changes through 0, while none is offered or used', async () => {
    host.tree.addVirtualFunctions(card, 1, virtual);
    expect(await setUp([entry])).toEqual([]);
    expect(writes).toEqual(['sriov_drivers_autoprobe 0', 'sriov_numvfs 0', 'sriov_numvfs 2']);
  });

  it('is made although the host uses the physical function', async () => {
    host.addEntry('class/net/ens1', card, 'net/ens1');
    host.proc.write('net/route', 'Iface\nens1\t00000000\t0\t3\t0\t0\t0\t00000000\n');
    expect(await setUp([entry])).toEqual([]);
  });

  it('goes on after a crash between 0 and the number', async () => {
    host.tree.addVirtualFunctions(card, 1, virtual);
    const dying = kernel();
    const once: Hardware = {
      ...dying,
      writeText: async (device, path, text) => {
        if (path.endsWith('sriov_numvfs') && text === '2') throw new HardwareError('EIO', path);
        await dying.writeText(device, path, text);
      },
    };
    expect(await setUp([entry], once)).toHaveLength(1);
    expect(await setUp([entry])).toEqual([]);
    expect(virtualNow()).toHaveLength(2);
  });

  it('of a physical function that no entry asks about stays', async () => {
    expect(await setUp([{ ...entry, product_id: '1889' }])).toEqual([]);
    expect(await setUp([{ ...entry, virtual_functions: true }])).toEqual([]);
    expect(writes).toEqual([]);
  });
});

describe('virtual functions are not touched', () => {
  const asks = (count: number) => `The device at ${card} has ${count} virtual functions, not 2`;
  const open = (node: string) =>
    host.proc.addProcess(31, { comm: 'qemu-system-x86', open: [node] });

  it('while one is offered', async () => {
    host.tree.addVirtualFunctions(card, 1, virtual);
    const driver = await driverOf([entry]);
    await driver.discover();
    expect(await driver.setUp?.()).toEqual([`${asks(1)}: ${first} is offered to guests.`]);
    expect(writes).toEqual([]);
  });

  it('while the physical function is offered', async () => {
    const whole = { address: card };
    await (await driverOf([whole])).discover();
    expect(await setUp([entry])).toEqual([`${asks(0)}: ${card} is offered to guests.`]);
  });

  it('while a guest has one open', async () => {
    host.tree.addVirtualFunctions(card, 1, { ...virtual, iommuGroup: 77 });
    open('/dev/vfio/77');
    const by = 'is open: process 31 (qemu-system-x86) uses /dev/vfio/77';
    expect(await setUp([entry])).toEqual([`${asks(1)}: ${first} ${by}.`]);
  });

  it('while the host uses one', async () => {
    host.tree.addVirtualFunctions(card, 1, { ...virtual, driver: 'iavf' });
    host.addEntry('class/net/ens1v0', first, 'net/ens1v0');
    host.proc.write('net/route', 'Iface\nens1v0\t00000000\t0\t3\t0\t0\t0\t00000000\n');
    const use = "carries the host's default route: ens1v0";
    expect(await setUp([entry])).toEqual([`${asks(1)}: ${first} ${use}.`]);
    expect(writes).toEqual([]);
  });

  it('if the device cannot have as many', async () => {
    const faults = await setUp([{ ...entry, virtual_functions: 9 }]);
    const asked = `The device at ${card} has 0 virtual functions, not 9`;
    expect(faults).toEqual([`${asked}: it can have at most 4.`]);
  });
});

describe('what the kernel did is read again', () => {
  it('when a driver makes fewer virtual functions', async () => {
    expect(await setUp([entry], kernel({ made: 1 }))).toEqual([
      `The device at ${card} has 0 virtual functions, not 2: its driver made 1.`,
    ]);
  });

  it('when no driver takes a function', async () => {
    host.tree.addVirtualFunctions(card, 2, virtual);
    const faults = await setUp([{ ...entry, bind_to: 'vfio-pci' }], kernel({ probe: false }));
    expect(faults?.[0]).toBe(
      `The device at ${first} is bound to no driver, not vfio-pci: ` +
        'the kernel bound it to no driver; is vfio-pci loaded?',
    );
  });
});

describe('binding', () => {
  const bound = { ...entry, bind_to: 'vfio-pci' };

  it('gives new virtual functions to the VFIO driver', async () => {
    expect(await setUp([bound])).toEqual([]);
    expect(
      virtualNow().map((each) => host.sysfs.linkName(`bus/pci/devices/${each}/driver`)),
    ).toEqual(['vfio-pci', 'vfio-pci']);
    writes = [];
    expect(await setUp([bound])).toEqual([]);
    expect(writes).toEqual([]);
  });

  it('takes a function from its driver first, and also one that was offered before', async () => {
    host.tree.addFunction({ address: '0000:5e:00.0', driver: 'nvme', classCode: '010802' });
    host.tree.write('bus/pci/drivers/nvme/unbind', '');
    const whole = { address: '0000:5e:00.0', bind_to: 'vfio-pci' };
    await (await driverOf([whole])).discover();
    expect(await setUp([whole])).toEqual([]);
    expect(writes).toEqual([
      'driver_override vfio-pci',
      'unbind 0000:5e:00.0',
      'drivers_probe 0000:5e:00.0',
    ]);
  });

  it('does not take a device from a mounted file system', async () => {
    host.tree.addFunction({ address: '0000:5e:00.0', driver: 'nvme', classCode: '010802' });
    const path = host.addEntry('class/block/nvme0n1', '0000:5e:00.0', 'nvme/nvme0/nvme0n1');
    host.tree.write(`${path}/dev`, '259:0\n');
    host.proc.write('self/mountinfo', '1 0 259:0 / / rw - ext4 /dev/nvme0n1 rw\n');
    expect(await setUp([{ address: '0000:5e:00.0', bind_to: 'vfio-pci' }])).toEqual([
      'The device at 0000:5e:00.0 is bound to nvme, not vfio-pci: ' +
        '0000:5e:00.0 has a mounted file system: nvme0n1 at /.',
    ]);
    expect(writes).toEqual([]);
  });
});
