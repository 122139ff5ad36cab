import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readPciFunctions } from '#agent/sysfs/pci.ts';
import { aGuardedHost } from '#test/support/hosts/guarded-host.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const address = '0000:c1:00.0';
const mate = '0000:c1:00.1';
const nvme = { vendor: '144d', product: 'a80a', classCode: '010802', driver: 'nvme' };
const nic = { vendor: '8086', product: '1572', classCode: '020000', driver: 'i40e' };

const host = perTest(aGuardedHost);

/** Why the function is refused, where the operator gave these addresses to the agent. */
async function refusal(ours: readonly string[] = [address]): Promise<string | undefined> {
  const all = readPciFunctions(host.sysfs, () => {});
  const isOurs = (fn: { address: string }) => ours.includes(fn.address);
  const guards = await host.guards();
  const asked = {
    driver: 'pci',
    wanted: all.filter((fn) => fn.address === address),
    all,
    isOurs,
  };
  const first = (await guards.check(asked)).get(address);
  // Before a handle is prepared the same holds.
  expect(await guards.recheck(address, isOurs)).toBe(first);
  return first;
}

/** An NVMe device with namespace nvme0n1 and partition nvme0n1p2. */
function addNvme(given: object = {}): void {
  host.tree.addFunction({ address, ...nvme, ...given });
  for (const [name, number] of [
    ['nvme0n1', '259:0'],
    ['nvme0n1/nvme0n1p2', '259:2'],
  ] as const) {
    const path = host.addEntry(
      `class/block/${name.split('/').at(-1)}`,
      address,
      `nvme/nvme0/${name}`,
    );
    host.tree.write(`${path}/dev`, `${number}\n`);
  }
}

function addNic(given: object = {}): void {
  host.tree.addFunction({ address, ...nic, ...given });
  host.addEntry('class/net/ens1', address, 'net/ens1');
}

describe('a function behind Intel VMD', () => {
  it('is refused, because it shares the address of VMD on the bus', async () => {
    const vmd = { classCode: '010400', driver: 'vmd' };
    host.tree.addFunction({ address: '0000:c9:00.5', ...nvme, ...vmd });
    host.tree.addFunction({ address: '10002:00:01.0', below: '0000:c9:00.5', classCode: '060400' });
    const at = '10002:01:00.0';
    host.tree.addFunction({ address: at, ...nvme, below: '10002:00:01.0' });
    expect(await host.check(at)).toBe(
      'is behind Intel VMD at 0000:c9:00.5, whose address on the bus it has',
    );
  });
});

describe('a function without a hindrance', () => {
  it.each([['vfio-pci'], [undefined], ['nvme']])('is not refused, bound to %s', async (driver) => {
    addNvme({ driver });
    expect(await refusal()).toBeUndefined();
  });

  it('may be a network card that is up without an address', async () => {
    addNic();
    const local = 'fe80000000000000b89ae5fffe1b0f00 02 40 20 80     ens1\n';
    host.proc.write('net/if_inet6', local);
    expect(await refusal()).toBeUndefined();
  });

  it('may be a card whose neighbour the host uses', async () => {
    addNvme({ driver: 'vfio-pci' });
    host.tree.addFunction({ address: '0000:c2:00.0', ...nvme });
    const path = host.addEntry('class/block/nvme1n1', '0000:c2:00.0', 'nvme/nvme1/nvme1n1');
    host.tree.write(`${path}/dev`, '259:9\n');
    host.proc.write('self/mountinfo', '1 0 259:9 / / rw - ext4 /dev/nvme1n1 rw\n');
    expect(await refusal()).toBeUndefined();
  });
});

describe('the function and its group', () => {
  it('a bridge is refused', async () => {
    host.tree.addFunction({ address, classCode: '060400', driver: 'pcieport' });
    expect(await refusal()).toBe('is a bridge');
  });

  it('a function without an IOMMU group is refused', async () => {
    host.tree.addFunction({ address, iommuGroup: undefined });
    expect(await refusal()).toBe('has no IOMMU group: the IOMMU is off');
  });

  it.each([
    ['snd_hda_intel', "with 0000:c1:00.1, which the host's driver snd_hda_intel holds"],
    ['vfio-pci', 'with 0000:c1:00.1, which is on vfio-pci and not on the allow-list'],
    ['mlx5_vfio_pci', 'with 0000:c1:00.1, which is on mlx5_vfio_pci and not on the allow-list'],
  ])('a function with a mate on %s is refused', async (driver, reason) => {
    host.tree.addFunction({ address, iommuGroup: 7 });
    host.tree.addFunction({ address: mate, iommuGroup: 7, classCode: '040300', driver });
    expect(await refusal()).toBe(`shares IOMMU group 7 ${reason}`);
  });

  it.each([
    ['ours on vfio-pci', { driver: 'vfio-pci' }, [address, mate]],
    ['without a driver', { driver: undefined }, [address]],
    ['on pci-stub', { driver: 'pci-stub' }, [address]],
    ['a bridge', { driver: 'pcieport', classCode: '060400' }, [address]],
  ])('a mate that is %s does not matter', async (_what, given, ours) => {
    host.tree.addFunction({ address, iommuGroup: 7 });
    host.tree.addFunction({ address: mate, iommuGroup: 7, ...given });
    expect(await refusal(ours)).toBeUndefined();
  });

  it.each([[undefined], ['']])(
    'a function with reset methods %j is refused',
    async (resetMethod) => {
      host.tree.addFunction({ address, resetMethod });
      expect(await refusal()).toBe('cannot be cleaned between guests: it has no reset method');
    },
  );

  it('a function of an older kernel with a reset is not refused', async () => {
    host.tree.addFunction({ address, resetMethod: undefined });
    host.tree.write(`${host.tree.pathOf(address)}/reset`, '');
    expect(await refusal()).toBeUndefined();
  });
});

describe('block devices', () => {
  it.each([
    ['by its number', '36 1 259:2 / /var/lib\\040x rw shared:1 - xfs /dev/root rw'],
    ['by its node', '36 1 0:45 / /var/lib\\040x rw - btrfs /dev/nvme0n1p2 rw'],
  ])('a mounted partition is found %s', async (_how, line) => {
    addNvme();
    host.proc.write('self/mountinfo', `22 1 0:5 / /proc rw - proc proc rw\n${line}\n`);
    expect(await refusal()).toBe('has a mounted file system: nvme0n1p2 at /var/lib x');
  });

  it('a mount in the mount namespace of a container counts', async () => {
    addNvme();
    const mountinfo = '36 1 259:0 / /data rw - xfs /dev/nvme0n1 rw\n';
    host.proc.addProcess(77, { open: ['/x'], mountNamespace: 'mnt:[9]', mountinfo });
    expect(await refusal()).toBe('has a mounted file system: nvme0n1 at /data');
  });

  it('a further device of a mounted btrfs counts', async () => {
    addNvme();
    host.tree.write('fs/btrfs/3f2c/devices/nvme0n1/size', '1\n');
    expect(await refusal()).toBe('has a mounted file system: nvme0n1 is part of btrfs 3f2c');
  });

  it('swap space counts', async () => {
    addNvme();
    host.proc.write('swaps', 'Filename Type Size Used Priority\n/dev/nvme0n1p2 partition 1 0 -2\n');
    expect(await refusal()).toBe('has swap space of the host: nvme0n1p2');
  });

  it.each(['dm-0', 'md127'])('a member of %s counts', async (holder) => {
    addNvme();
    const path = `${host.tree.pathOf(address)}/nvme/nvme0/nvme0n1/nvme0n1p2`;
    host.tree.write(`${path}/holders/${holder}/x`, '');
    host.tree.write('class/block/dm-0/dm/name', 'vg-root\n');
    const of = holder === 'dm-0' ? 'dm-0 (vg-root)' : holder;
    expect(await refusal()).toBe(`is part of a volume: ${of} holds nvme0n1p2`);
  });

  it('a namespace of a subsystem with several controllers counts', async () => {
    host.tree.addFunction({ address, ...nvme });
    host.addEntry('class/nvme/nvme3', address, 'nvme/nvme3');
    const subsystem = 'devices/virtual/nvme-subsystem/nvme-subsys3';
    host.tree.write(`${subsystem}/nvme3n1/dev`, '259:7\n').write('class/block/x/y', '');
    host.tree.write(`class/nvme-subsystem/nvme-subsys3/nvme3`, '');
    symlinkSync(`../../${subsystem}/nvme3n1`, join(host.tree.root, 'class/block/nvme3n1'));
    host.proc.write('self/mountinfo', '36 1 259:7 / /srv rw - xfs /dev/nvme3n1 rw\n');
    expect(await refusal()).toBe('has a mounted file system: nvme3n1 at /srv');
  });

  it('a host whose swap space cannot be read refuses devices with blocks', async () => {
    addNvme();
    host.proc.write('swaps', 'x'.repeat(17 * 1024 * 1024));
    expect(await refusal()).toBe('may be in use: the swap space of the host cannot be read');
  });
});

describe('network cards', () => {
  const route = (text: string) =>
    host.proc.write('net/route', `Iface\tDestination\tGateway\tFlags\n${text}\n`);

  it('the IPv4 default route counts', async () => {
    addNic();
    route('ens1\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0');
    expect(await refusal()).toBe("carries the host's default route: ens1");
  });

  it('the IPv6 default route counts', async () => {
    addNic();
    const zeros = '0'.repeat(32);
    const line = `${zeros} 00 ${zeros} 00 fe80${'0'.repeat(28)} 00000400 1 0 00000003     ens1\n`;
    host.proc.write('net/ipv6_route', line);
    expect(await refusal()).toBe("carries the host's default route: ens1");
  });

  it.each(['route', 'if_inet6'])('an address counts, as %s shows it', async (file) => {
    addNic();
    if (file === 'route') route('ens1\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0');
    else host.proc.write('net/if_inet6', `2001${'0'.repeat(28)} 02 40 00 80     ens1\n`);
    expect(await refusal()).toBe('has an address of the host: ens1');
  });

  it.each(['bond0', 'br-ex'])('a member of %s counts', async (master) => {
    addNic();
    const path = `${host.tree.pathOf(address)}/net/ens1`;
    symlinkSync(`../../../../virtual/net/${master}`, join(host.tree.root, path, 'master'));
    expect(await refusal()).toBe(`carries another network interface: ${master} uses ens1`);
  });

  it('a VLAN on the interface counts', async () => {
    addNic();
    host.tree.write(`${host.tree.pathOf(address)}/net/ens1/upper_ens1.100`, '');
    expect(await refusal()).toBe('carries another network interface: ens1.100 uses ens1');
  });

  it('an interface in another network namespace counts', async () => {
    host.tree.addFunction({ address, ...nic });
    host.addEntry('class/net/x', address, 'net');
    expect(await refusal()).toBe('has its network interface in another network namespace');
  });

  it('a host whose routes cannot be read refuses network cards', async () => {
    addNic();
    host.proc.write('net/route', 'x'.repeat(17 * 1024 * 1024));
    expect(await refusal()).toBe('may be in use: the routes of the host cannot be read');
  });
});

describe('parts for guests', () => {
  it('a live mdev counts', async () => {
    host.tree.addFunction({ address, driver: 'nvidia' });
    const uuid = 'b1b2a1f5-9c5b-4d0f-8a3e-0123456789ab';
    host.addEntry(`bus/mdev/devices/${uuid}`, address, uuid);
    expect(await refusal()).toBe(`has a mediated device: ${uuid}`);
  });

  it('a vGPU type counts, and none does not', async () => {
    host.tree.addFunction({ address, driver: 'nvidia' });
    const file = `${host.tree.pathOf(address)}/nvidia/current_vgpu_type`;
    host.tree.write(file, '0\n');
    expect(await refusal()).toBeUndefined();
    host.tree.write(file, '1147\n');
    expect(await refusal()).toBe('has a vGPU type set: 1147');
  });
});
