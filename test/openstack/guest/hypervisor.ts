// A compute node with a hypervisor: libvirtd and QEMU in the VM of test/kernel. nova-compute is
// outside of it, unmodified, and drives libvirtd over TCP.

import { appendFileSync, copyFileSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { fetchRoot, link, own, write } from '#test/kernel/debian/root.ts';
import type { Guest, GuestProcess } from '#test/kernel/machine/guest.ts';
import type { Stage as Host } from '#test/kernel/stage.ts';
import {
  type CloudPlan,
  computeConfigurationName,
  configurationFile,
  textOf,
} from '#test/openstack/install/configuration.ts';
import { eventually } from '#test/support/suites/rest.ts';

/** Their dependencies come with them. */
const packages = [
  ...['libvirt-daemon', 'libvirt-daemon-driver-qemu', 'libvirt-clients', 'mdevctl'],
  ...['qemu-system-x86', 'qemu-utils'],
  ...[
    'dash',
    'coreutils',
    'util-linux',
    'mount',
    'hostname',
    'grep',
    'sed',
    'procps',
    'kmod',
    'udev',
  ],
  ...['libc-bin', 'libstdc++6', 'iproute2', 'nvme-cli'],
];

/** Where the programs of Python are that Debian's nova-compute uses, too. */
const pythonModules = '/usr/lib/python3/dist-packages';

const emulator = '/usr/bin/qemu-system-x86_64';

/** The first process: what an installed system mounts at boot, then the suite's commands. */
const init = `#!/bin/sh
export PATH=/usr/local/bin:/usr/sbin:/usr/bin:${own}/usr/local/bin:${own}/usr/bin HOME=/root
for each in run tmp dev/shm; do mkdir -p /$each; mount -t tmpfs tmp /$each; done
mkdir -p /dev/pts
mount -t devpts devpts /dev/pts
mount -t cgroup2 cgroup2 /sys/fs/cgroup
# libvirtd learns from udev of mdevs that appear.
/lib/systemd/systemd-udevd --daemon
udevadm trigger
udevadm settle
UV_THREADPOOL_SIZE=16 node ${own}/commands.mjs
${own}/bin/busybox poweroff -f
`;

/**
 * The BIOS serves no NVMe device without a place in the boot order while libvirt's `strict=on` is
 * set, and Nova gives none to passed-through devices. The guest reads and writes by the BIOS.
 */
const wrapper = `#!/bin/sh
for each; do
	shift
	[ "$each" = strict=on ] && each=strict=off
	set -- "$@" "$each"
done
exec ${emulator}.debian "$@"
`;

const qemuSettings = `user = "root"
group = "root"
dynamic_ownership = 0
remember_owner = 0
security_driver = "none"
cgroup_controllers = []
namespaces = []
stdio_handler = "file"
`;

const libvirtSettings = `listen_tls = 0
listen_tcp = 1
listen_addr = "0.0.0.0"
auth_tcp = "none"
auth_unix_ro = "none"
auth_unix_rw = "none"
host_uuid = "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
`;

/** @param directory of the cache @throws CannotRun where the packages cannot be fetched */
export function fetchHypervisor(directory: string): string {
  const options = { packages, madeBy: import.meta.filename, configure };
  return fetchRoot(join(directory, 'hypervisor'), options);
}

function configure(root: string): void {
  const users = ['root:x:0:0::/root:/bin/sh', 'libvirt-qemu:x:64055:64055::/:/bin/false', ''];
  write(root, 'etc/passwd', users.join('\n'));
  const groups = ['root:x:0', 'tty:x:5', 'kvm:x:104', 'libvirt:x:105', 'libvirt-qemu:x:64055', ''];
  write(root, 'etc/group', groups.join(':\n'));
  write(root, 'etc/libvirt/qemu.conf', qemuSettings);
  write(root, 'etc/libvirt/libvirtd.conf', libvirtSettings);
  write(root, 'usr/sbin/init', init, 0o755);
  renameSync(join(root, emulator), join(root, `${emulator}.debian`));
  write(root, emulator, wrapper, 0o755);
  link(root, '/run', 'var/run');
  link(root, `${own}/usr/lib/cyborg-agent`, 'usr/lib/cyborg-agent');
}

/** Nova's state of the node: the disks and consoles of its servers are in it. */
export function sharedFolder(plan: CloudPlan, host: string): string {
  return join(plan.directory, computeConfigurationName(plan, host), 'instances');
}

/** After each boot: what an operator's host starts at boot. */
export async function startHypervisor(
  { guest, hostname }: Host,
  shared: string,
): Promise<GuestProcess> {
  await guest.run('hostname', hostname);
  await guest.run('modprobe', '-a', 'vfio-pci', 'vfio_iommu_type1');
  // Two cards, each with room for one mdev.
  const place = ['behind=0000:00:04.0', 'window=0x3c000000'];
  await guest.run('modprobe', 'fake_pci', 'devs=10de:1eb8:030200,10de:1eb8:030200', ...place);
  await guest.run('modprobe', 'fake_vgpu', 'cards=10de:1eb8=pf', 'capacity=2', 'types=558:2');
  await guest.run('mkdir', '-p', shared);
  // At the path that it has outside, because nova-compute names files by it.
  const options = 'trans=virtio,version=9p2000.L,msize=262144';
  await guest.run('mount', '-t', '9p', '-o', options, 'share', shared);
  return await startLibvirt(guest);
}

export async function startLibvirt(guest: Guest): Promise<GuestProcess> {
  const libvirtd = await guest.start('libvirtd', ['libvirtd', '--listen']);
  await eventually(
    () => guest.tryRun('virsh', '--quiet', 'version'),
    ({ code }) => code === 0,
    120,
  );
  return libvirtd;
}

/** Before nova-compute of the node starts: Nova's libvirt driver and its settings. */
export function useLibvirt(plan: CloudPlan, host: string, port: number): void {
  const name = computeConfigurationName(plan, host);
  const file = configurationFile(plan, name);
  const helper = [plan.release.program('privsep-helper'), '--config-file', file];
  const settings = {
    DEFAULT: {
      compute_driver: 'libvirt.LibvirtDriver',
      pointer_model: 'ps2mouse',
      reserved_host_memory_mb: 0,
    },
    libvirt: {
      virt_type: 'qemu',
      connection_uri: `qemu+tcp://127.0.0.1:${port}/system`,
      cpu_mode: 'none',
      images_type: 'raw',
      disk_cachemodes: 'file=writeback',
      inject_partition: -2,
    },
    nova_sys_admin: { helper_command: helper.join(' ') },
  };
  appendFileSync(file, `\n${textOf(settings)}`);
  mkdirSync(sharedFolder(plan, host), { recursive: true });
  // Debian's module for the Python of either release; this folder is on its path.
  const modules = readdirSync(pythonModules).filter((each) => /^libvirt.*\.(py|so)$/.test(each));
  for (const each of modules) {
    copyFileSync(join(pythonModules, each), join(plan.directory, name, each));
  }
}
