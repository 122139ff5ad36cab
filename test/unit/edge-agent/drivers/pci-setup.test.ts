import { beforeEach, describe, expect, it } from 'vitest';
import type { Hardware } from '#agent/hardware/port.ts';
import { setUp as setUpDriver } from '#agent/process/set-up.ts';
import { PciKernel, type PciKernelFaults } from '#test/drivers/pci/kernel.ts';
import { aGuardedHost } from '#test/support/hosts/guarded-host.ts';
import { perTest } from '#test/support/vitest/shared.ts';
import { snapshotOf } from '#test/support/vitest/snapshot.ts';

const card = '0000:3b:00.0';
const first = '0000:3b:00.1';
const virtual = { vendor: '8086', product: '154c', classCode: '020000', driver: undefined };
const entry = { vendor_id: '8086', product_id: '154c', virtual_functions: 2 };

const host = perTest(aGuardedHost);
let writes: string[];

beforeEach(() => {
  writes = [];
  aKernel().addCard({
    address: card,
    ...virtual,
    product: '1572',
    driver: 'i40e',
    sriovTotalvfs: 4,
  });
});

const aKernel = (faults: PciKernelFaults = {}) => new PciKernel(host.tree, virtual, faults);
const virtualNow = () => aKernel().virtualOf(card);
const driverNow = (address: string) => host.sysfs.linkName(`bus/pci/devices/${address}/driver`);

/** The agent's port, with the kernel's side of each write. */
function kernel(faults: PciKernelFaults = {}): Hardware {
  return {
    ...host.hardware,
    writeText: async (device, path, text) => {
      writes.push(`${path.split('/').at(-1)} ${text.trim()}`);
      await host.hardware.writeText(device, path, text);
      aKernel(faults).effect(path, text);
    },
  };
}

const driverOf = (entries: readonly object[], hardware: Hardware = kernel()) =>
  host.pciDriver(entries, hardware);

async function setUp(entries: readonly object[], hardware?: Hardware) {
  return (await setUpDriver(await driverOf(entries, hardware), host.log)).left;
}

describe('the number of virtual functions', () => {
  it('becomes what the entry asks for, without drivers for them', async () => {
    expect(await setUp([entry])).toEqual([]);
    expect(virtualNow()).toHaveLength(2);
    expect(writes).toEqual(['sriov_drivers_autoprobe 0', 'sriov_numvfs 2']);
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

  it('of a physical function that no entry asks about stays', async () => {
    expect(await setUp([{ ...entry, product_id: '1889' }])).toEqual([]);
    expect(await setUp([{ ...entry, virtual_functions: true }])).toEqual([]);
    expect(writes).toEqual([]);
  });
});

describe('virtual functions are not touched', () => {
  const asks = (count: number) => `The number of virtual functions of ${card} is ${count}, not 2`;
  const open = (node: string) =>
    host.proc.addProcess(31, { comm: 'qemu-system-x86', open: [node] });

  it('while one is offered', async () => {
    host.tree.addVirtualFunctions(card, 1, virtual);
    const driver = await driverOf([entry]);
    await driver.discover();
    expect((await setUpDriver(driver, host.log)).left).toEqual([
      `${asks(1)}: ${first} is offered to guests.`,
    ]);
    expect(writes).toEqual([]);
  });

  it('while a server has one that is offered, whose domain is named', async () => {
    host.tree.addVirtualFunctions(card, 3, virtual);
    const second = '0000:3b:00.2';
    const driver = await driverOf([entry]);
    await driver.discover();
    host.domains.define('instance-00000001', [second]);
    expect((await setUpDriver(driver, host.log)).left).toEqual([
      `The number of virtual functions of ${card} is 3, not 2: ${second} is offered to guests, and belongs to a server: the domain instance-00000001 of libvirt has it.`,
    ]);
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
    const asked = `The number of virtual functions of ${card} is 0, not 9`;
    expect(faults).toEqual([`${asked}: it can have at most 4.`]);
  });
});

describe('what the kernel did is read again', () => {
  it('when a driver makes fewer virtual functions', async () => {
    expect(await setUp([entry], kernel({ made: 1 }))).toEqual([
      `The number of virtual functions of ${card} is 1, not 2: its driver made 1.`,
    ]);
  });

  it('when no driver takes a function', async () => {
    host.tree.addVirtualFunctions(card, 2, virtual);
    const faults = await setUp([{ ...entry, bind_to: 'vfio-pci' }], kernel({ probe: false }));
    expect(faults?.[0]).toBe(
      `The driver of ${first} is none, not vfio-pci: ` +
        'the kernel bound it to no driver; is vfio-pci loaded?',
    );
  });
});

describe('binding', () => {
  const bound = { ...entry, bind_to: 'vfio-pci' };

  it('gives new virtual functions to the VFIO driver', async () => {
    expect(await setUp([bound])).toEqual([]);
    expect(virtualNow().map(driverNow)).toEqual(['vfio-pci', 'vfio-pci']);
  });

  it('that fails keeps the function from being offered, until it is bound', async () => {
    host.tree.addVirtualFunctions(card, 2, virtual);
    let isLoaded = false;
    const driver = await driverOf([bound], {
      ...host.hardware,
      writeText: (...write) => kernel({ probe: isLoaded }).writeText(...write),
    });
    const look = async () => {
      await setUpDriver(driver, host.log);
      const { devices, notOffered = [] } = await driver.discover();
      return [Object.keys(devices), notOffered.map((each) => each.reason)];
    };
    const reason =
      'could not be bound to vfio-pci: the kernel bound it to no driver; is vfio-pci loaded?';
    expect(await look()).toEqual([[], [reason]]);
    isLoaded = true;
    expect(await look()).toEqual([[card], []]);
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
      'The driver of 0000:5e:00.0 is nvme, not vfio-pci: ' +
        '0000:5e:00.0 has a mounted file system: nvme0n1 at /.',
    ]);
    expect(writes).toEqual([]);
  });
});

describe('the plan', () => {
  const bound = { ...entry, bind_to: 'vfio-pci' };
  const count = { address: card, what: 'number of virtual functions', before: '0', after: '2' };

  it('changes nothing', async () => {
    host.tree.addVirtualFunctions(card, 1, virtual);
    const driver = await driverOf([bound]);
    const before = [snapshotOf(host.tree.root), snapshotOf(host.proc.root)];
    expect(await driver.plan?.()).toHaveLength(1);
    expect([snapshotOf(host.tree.root), snapshotOf(host.proc.root)]).toEqual(before);
    expect(writes).toEqual([]);
  });

  it('has the number first, and the bindings when the functions exist', async () => {
    expect(await (await driverOf([bound])).plan?.()).toEqual([
      { ...count, apply: expect.any(Function) as unknown },
    ]);
    await setUp([bound]);
    const changes = host.log.lines.filter(({ message }) => message === 'Host changed');
    expect(changes).toEqual([
      { message: 'Host changed', driver: 'pci', ...count },
      ...virtualNow().map((address) => ({
        message: 'Host changed',
        driver: 'pci',
        address,
        what: 'driver',
        before: 'none',
        after: 'vfio-pci',
      })),
    ]);
  });

  it('has refusals as data', async () => {
    host.tree.addVirtualFunctions(card, 1, virtual);
    const driver = await driverOf([bound]);
    await driver.discover();
    expect(await driver.plan?.()).toEqual([
      { ...count, before: '1', refusal: `${first} is offered to guests` },
      {
        address: first,
        what: 'driver',
        before: 'none',
        after: 'vfio-pci',
        apply: expect.any(Function) as unknown,
      },
    ]);
  });

  it('refuses the number while a virtual function cannot be read', async () => {
    host.tree.addVirtualFunctions(card, 1, virtual);
    host.tree.write(`${host.tree.pathOf(first)}/uevent`, '');
    expect(await (await driverOf([entry])).plan?.()).toEqual([
      { ...count, before: '1', refusal: `${first} cannot be read` },
    ]);
  });

  it('that is old applies to the host as it is then', async () => {
    host.tree.addVirtualFunctions(card, 2, virtual);
    const plan = (await (await driverOf([bound])).plan?.()) ?? [];
    expect(plan).toHaveLength(2);
    host.openVfio(first);
    for (const change of plan) {
      if (!('apply' in change)) throw new Error('It is refused.');
      const applied = expect(change.apply());
      if (change.address === first) await applied.rejects.toThrow(`${first} is open: process 31`);
      else await applied.resolves.toBeUndefined();
    }
    expect(driverNow(first)).toBeUndefined();
  });
});
