// One VM: QEMU without KVM, so it needs no support by the machine. It ends with the suite.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Qemu } from '#test/kernel/debian/qemu.ts';
import { connectGuest, type Guest } from './guest.ts';
import type { Image } from './image.ts';
import { type Monitor, openMonitor } from './monitor.ts';
import { numaBoard } from './numa-board.ts';

interface MachineOptions {
  readonly image: Image;
  readonly qemu: Qemu;
  /** 0000:02:00.0 is a network card with seven virtual functions, if true. */
  readonly networkCard: boolean;
  /** Two NUMA nodes with NVMe controllers, of which {@link numaBoard} says where each is. */
  readonly numa: boolean;
  /** The file for the output of QEMU, the guest's kernel and its processes; it is appended to. */
  readonly log: string;
  /** Raw disks, which outlast the VM: /dev/vda, and the namespace of an NVMe controller. */
  readonly disks: { readonly state: string; readonly nvme: string };
  /** The guest's port 10.0.2.100:8883 leads to this port of the loopback interface, if given. */
  readonly broker?: number;
  /** The guest's port 10.0.2.100:9326 leads to the server of images. */
  readonly images?: number;
  readonly hypervisor?: Hypervisor | undefined;
  /** Arguments of QEMU, beside those of every VM. */
  readonly added: readonly string[];
}

/** A VM that runs VMs itself. */
export interface Hypervisor {
  /** A folder outside, which the guest mounts by 9P as `share`. */
  readonly share: string;
  /** This port of the loopback interface leads to libvirtd in the guest. */
  readonly port: number;
}

export interface Machine {
  readonly guest: Guest;
  readonly monitor: Pick<Monitor, 'run'>;
  /** At once, as by pulling the plug. */
  powerOff(): Promise<void>;
}

/** Every VM has these. Positions are fixed, so that addresses are. */
const hardware = [
  ...['-machine', 'q35', '-accel', 'tcg', '-cpu', 'Nehalem', '-m', '1024'],
  ...['-nodefaults', '-no-user-config', '-display', 'none', '-monitor', 'none', '-no-reboot'],
  ...['-device', 'intel-iommu,intremap=on'],
  // 0000:00:02.0 has no driver. Functions of fake_pci use the place of 0000:00:04.0 behind the
  // IOMMU.
  ...['-device', 'edu,addr=02.0'],
  ...['-object', 'cryptodev-backend-builtin,id=crypto'],
  ...['-device', 'virtio-crypto-pci,cryptodev=crypto,addr=03.0'],
  ...['-device', 'pci-testdev,membar=1M,addr=04.0'],
  // 0000:01:00.0 is an NVMe controller with four virtual functions.
  ...['-device', 'pcie-root-port,id=slot1,slot=1,addr=05.0'],
  ...['-device', 'nvme-subsys,id=subsystem'],
];
/** The NVMe controller, which QEMU's monitor can remove and add again. */
export const nvmeController = {
  driver: 'nvme',
  id: 'controller',
  serial: 'kernel-suite',
  bus: 'slot1',
  subsys: 'subsystem',
  max_ioqpairs: 10,
  msix_qsize: 12,
  sriov_max_vfs: 4,
  sriov_vq_flexible: 8,
  sriov_vi_flexible: 4,
};
const nvme = Object.entries(nvmeController)
  .map(([key, value]) => (key === 'driver' ? value : `${key}=${value}`))
  .join();

/** The first bus behind a root port is that of the NVMe controller. */
const igb = [
  ...['-device', 'pcie-root-port,id=slot2,slot=2,addr=06.0'],
  ...['-device', 'igb,id=network-card,bus=slot2,mac=52:54:00:00:00:01'],
];

/**
 * A kernel that oopses panics, and a panic ends the VM. The RAM from 960 MiB on is for the BARs
 * of fake_pci. The timer check fails at times where the CPU is emulated, and panics.
 */
const kernelArguments =
  'no_timer_check console=ttyS0 loglevel=4 panic=-1 oops=panic mem=960M intel_iommu=on ' +
  'mitigations=off audit=0';

/** @throws Error with the last lines of the kernel if it does not boot */
export async function startMachine(options: MachineOptions): Promise<Machine> {
  const directory = mkdtempSync(join(tmpdir(), 'cyborg-kernel-'));
  const path = join(directory, 'control');
  const server = createServer().listen(path);
  await once(server, 'listening');
  const lost = new AbortController();
  const monitor = await openMonitor(join(directory, 'monitor'), lost.signal);
  const log = openSync(options.log, 'a');
  // QEMU ends when this process does, whatever ends it.
  const { program, args, environment } = options.qemu;
  const own = [...argumentsOf(options, path), ...monitor.arguments];
  const command = ['--pdeathsig', 'KILL', '--', program, ...args, ...own];
  const qemu = spawn('setpriv', command, {
    stdio: ['ignore', log, log],
    env: { ...process.env, ...environment },
  });
  closeSync(log);
  const ended = new Promise<void>((resolve) => {
    const end = (what: string) => {
      lost.abort(new Error(`The VM was lost (${what}).\n${lastLines(options.log)}`));
      resolve();
    };
    qemu.once('exit', (code, signal) => end(`QEMU has ended with ${signal ?? code}`));
    qemu.once('error', (error) => end(error.message));
  });
  const powerOff = async () => {
    kill(qemu);
    await ended;
    server.close();
    monitor.close();
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    const connected = once(server, 'connection', { signal: lost.signal });
    const [socket] = (await connected) as [Socket];
    const guest = await connectGuest(socket, lost.signal, (name, line) => {
      appendFileSync(options.log, `${name}: ${line}\n`);
    });
    return { guest, monitor, powerOff };
  } catch (error) {
    const reason = lost.signal.aborted ? lost.signal.reason : error;
    await powerOff();
    throw reason;
  }
}

function argumentsOf(options: MachineOptions, control: string): string[] {
  const { image, disks, broker, networkCard, numa, hypervisor, added } = options;
  return [
    ...hardware,
    ...added,
    ...['-smp', hypervisor || numa ? '2' : '1'],
    ...(networkCard ? igb : []),
    ...['-device', nvme],
    ...['-serial', 'stdio'],
    ...['-chardev', `socket,id=control,path=${control}`],
    ...['-device', 'virtio-serial-pci', '-device', 'virtserialport,chardev=control'],
    ...(broker === undefined ? [] : networkTo(broker, options)),
    ...(hypervisor ? shareOf(hypervisor) : []),
    ...['-drive', `file=${disks.state},if=none,id=state,format=raw`],
    ...['-device', 'virtio-blk-pci,drive=state'],
    // The last devices, because one that names no bus may get the bus of an expander bridge.
    ...(numa ? numaBoard.devices : []),
    ...['-drive', namespaceOn(disks.nvme)],
    ...['-device', `nvme-ns,drive=namespace,bus=${numa ? numaBoard.withDisk : 'controller'}`],
    ...['-kernel', image.kernel, '-initrd', image.initramfs, '-append', kernelArguments],
  ];
}

/** A sector of the NVMe controller's namespace that cannot be read. */
export const badSector = 100_000;

function namespaceOn(file: string): string {
  const reading = `event=none,iotype=read,sector=${badSector},errno=5`.split(',');
  return [
    'if=none,id=namespace,driver=raw,file.driver=blkdebug,file.image.driver=file',
    `file.image.filename=${file}`,
    ...reading.map((each) => `file.inject-error.0.${each}`),
  ].join();
}

/** The guest reaches nothing but these: `restrict` closes all else, in both directions. */
function networkTo(broker: number, { images, hypervisor }: MachineOptions): string[] {
  const to = (from: number, port: number) =>
    `guestfwd=tcp:10.0.2.100:${from}-cmd:/bin/busybox nc 127.0.0.1 ${port}`;
  const forward = [
    to(8883, broker),
    ...(images === undefined ? [] : [to(9326, images)]),
    ...(hypervisor ? [`hostfwd=tcp:127.0.0.1:${hypervisor.port}-:16509`] : []),
  ].join();
  return [
    ...['-netdev', `user,id=network,restrict=on,${forward}`],
    ...['-device', 'virtio-net-pci,netdev=network'],
  ];
}

function shareOf({ share }: Hypervisor): string[] {
  return ['-virtfs', `local,path=${share},mount_tag=share,security_model=none`];
}

function kill(qemu: ChildProcess): void {
  if (qemu.exitCode === null && qemu.signalCode === null) qemu.kill('SIGKILL');
}

function lastLines(log: string): string {
  const text = existsSync(log) ? readFileSync(log, 'utf8') : '';
  return text.replaceAll('\r', '').trim().split('\n').slice(-15).join('\n');
}
