// The kernel's and the device's side of NVMe controllers, simulated over a sysfs tree: binding to
// the driver `nvme` shows a controller in class/nvme, and the tool `nvme` answers with the JSON
// and the exit codes of nvme-cli. What a device does is written from the specification, and
// was not compared with a device.

import { readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { HardwareError } from '#agent/hardware/errno.ts';
import type { Answer, Hardware } from '#agent/hardware/port.ts';
import { PciKernel } from '#test/drivers/pci/kernel.ts';
import type { PciFunctionGiven, SysfsTree } from '#test/support/hosts/sysfs.ts';

export interface NvmeDevice {
  serial: string;
  model: string;
  firmware: string;
  /** State of the controller in sysfs; undefined if it does not appear. */
  state: string | undefined;
  sanicap: number;
  oacs: number;
  fna: number;
  bpinfo: number;
  /** FRMW: the number of slots, whether the first one is read-only, and activation at once. */
  frmw: number;
  /** Slot → firmware. */
  readonly slots: Map<number, string>;
  runningSlot: number;
  /** The slot that runs after the next reset, or the next power cycle. */
  nextSlot: number | undefined;
  /** The reset that its firmware needs beyond that of the controller. */
  needsReset: 'conventional' | 'subsystem' | 'any controller' | undefined;
  /** The image that was downloaded. */
  image: string;
  /** Whether the tool can map the controller's registers. */
  hasRegisters: boolean;
  namespaces: { nsid: number; attached: boolean }[];
  /** Where a holder has left data. */
  readonly dirty: Set<'media' | 'boot 0' | 'boot 1'>;
  /** Critical Warning of the SMART log. */
  warning: number;
  sstat: number;
  sprog: number;
  cdw10: number;
  /** Reads of the log until an operation ends. */
  polls: number;
  /** Actions of Sanitize that end with a failure. */
  readonly failing: Set<number>;
}

type ToolFault = { readonly exitCode: number; readonly stderr: string } | Error | string;

const completed = 0x1;
const running = 0x2;
const failed = 0x3;
const erased = 0x100;
const capacity = 1_000_204_886_016;

export class NvmeKernel {
  readonly tree: SysfsTree;
  readonly #pci: PciKernel;
  readonly #devices = new Map<string, NvmeDevice>();
  /** A verb's other answer, other output, or error of the port. */
  readonly faults = new Map<string, ToolFault>();
  /** Command lines without the program. */
  readonly ran: string[] = [];
  /** Whose output the tool has. */
  version: '2.8' | '2.11' | '2.16' = '2.16';
  /** Whether nvme-cli is installed. */
  hasTool = true;
  /** Whether the agent's helper is installed. */
  hasHelper = true;
  /** Runs while the tool does, before its effect. */
  during: (verb: string) => Promise<void> = async () => {};
  /** Called after a function was bound or unbound. */
  afterBind: (address: string, driver: string | undefined) => void = () => {};

  constructor(tree: SysfsTree) {
    this.tree = tree;
    this.#pci = new PciKernel(tree, {});
    for (const driver of ['nvme', 'vfio-pci']) tree.write(`bus/pci/drivers/${driver}/unbind`, '');
  }

  /** On the kernel's driver `nvme`, as after a boot; a holder has left data. */
  add(given: PciFunctionGiven, device: Partial<NvmeDevice> = {}): NvmeDevice {
    const { address } = given;
    const added: NvmeDevice = {
      serial: `S-${address.slice(5, 7)}`,
      model: 'Simulated SSD',
      firmware: '1.0',
      frmw: 0x16,
      slots: new Map([[1, '1.0']]),
      runningSlot: 1,
      image: '',
      nextSlot: undefined,
      needsReset: undefined,
      state: 'live',
      sanicap: 0x7,
      oacs: 0x1e,
      fna: 0x4,
      bpinfo: 0,
      hasRegisters: true,
      namespaces: [{ nsid: 1, attached: true }],
      dirty: new Set(['media'] as const),
      warning: 0,
      sstat: 0,
      sprog: 0xffff,
      cdw10: 0,
      polls: 2,
      failing: new Set<number>(),
      ...device,
    };
    const ids = { vendor: '144d', product: 'a80a', subsystem: '144d:a801', classCode: '010802' };
    this.tree.addFunction({ ...ids, ...given, driver: undefined });
    this.tree.write(`${this.tree.pathOf(address)}/enable`, '0');
    this.#devices.set(address, added);
    this.#probe(address);
    return added;
  }

  at(address: string): NvmeDevice {
    const found = this.#devices.get(address);
    if (!found) throw new Error(`No device at ${address}.`);
    return found;
  }

  /** `vfio-pci`, for example; undefined without a driver. */
  driverOf(address: string): string | undefined {
    const uevent = readFileSync(join(this.tree.root, this.tree.pathOf(address), 'uevent'), 'utf8');
    return /^DRIVER=(.*)$/m.exec(uevent)?.[1];
  }

  /** A boot: the kernel's driver has all devices; a sanitize operation goes on. */
  reboot(): void {
    for (const device of this.#devices.values()) restart(device, 'any controller');
    for (const address of this.#devices.keys()) {
      this.#pci.effect('unbind', address);
      this.#hide(address);
      this.#probe(address);
    }
  }

  powerCycle(): void {
    for (const device of this.#devices.values()) restart(device, device.needsReset);
    this.reboot();
  }

  hardware(): Pick<Hardware, 'writeText' | 'exec' | 'help' | 'isInstalled'> {
    const { writeText } = this.#pci.hardware();
    return {
      writeText: async (device, path, text) => {
        await writeText(device, path, text);
        const name = basename(path);
        if (name !== 'unbind' && name !== 'drivers_probe') return;
        const driver = this.driverOf(text);
        if (driver === 'nvme') this.#show(text);
        else this.#hide(text);
        this.afterBind(text, driver);
      },
      isInstalled: (tool) => (tool === undefined ? this.hasHelper : this.hasTool),
      help: async (address, [verb, of, offset]) => {
        if (!this.hasHelper) throw new HardwareError('ENOENT', 'the helper is not installed');
        if (verb !== 'pci-read' || of !== address) throw new HardwareError('EINVAL', `${verb}`);
        return this.#register(address, Number(offset));
      },
      exec: async (address, _tool, args) => {
        this.ran.push(args.join(' '));
        const [verb = '', node = ''] = args;
        await this.during(verb);
        const fault = this.faults.get(verb);
        if (fault instanceof Error) throw fault;
        if (typeof fault === 'string') return answer(fault);
        if (fault) return { ...fault, stdout: '' };
        if (verb === 'version')
          return answer(`nvme version ${this.version} (git ${this.version})\n`);
        if (this.driverOf(address) !== 'nvme' || node !== `/dev/${this.nodeOf(address)}`) {
          return { exitCode: 1, stdout: '', stderr: `${node}: No such file or directory` };
        }
        return this.#answer(this.at(address), verb, args.slice(2), basename(node));
      },
    };
  }

  /** The kernel keeps programs from the registers while a driver has them. */
  #register(address: string, offset: number): string {
    if (this.driverOf(address) !== undefined) throw new HardwareError('EPERM', 'resource0');
    const enable = join(this.tree.root, this.tree.pathOf(address), 'enable');
    if (readFileSync(enable, 'utf8') !== '1') return '0xffffffff';
    const { bpinfo } = this.at(address);
    const hasPartitions = bpinfo === 0 ? 0 : 0x2000;
    const value = offset === 4 ? hasPartitions : offset === 0x40 ? bpinfo : 0;
    return `0x${value.toString(16).padStart(8, '0')}`;
  }

  nodeOf(address: string): string {
    return `nvme${[...this.#devices.keys()].indexOf(address)}`;
  }

  #probe(address: string): void {
    this.tree.write(`${this.tree.pathOf(address)}/driver_override`, 'nvme\n');
    this.#pci.effect('drivers_probe', address);
    this.#show(address);
  }

  #show(address: string): void {
    const { serial, model, firmware, state } = this.at(address);
    if (state === undefined) return;
    const path = `${this.tree.pathOf(address)}/nvme/${this.nodeOf(address)}`;
    this.tree.write(`${path}/serial`, `${serial.padEnd(20)}\n`);
    this.tree.write(`${path}/model`, `${model.padEnd(40)}\n`);
    this.tree.write(`${path}/firmware_rev`, `${firmware.padEnd(8)}\n`);
    this.tree.write(`${path}/state`, `${state}\n`);
    this.tree.write(`${path}/${this.nodeOf(address)}n1/size`, `${capacity / 512}\n`);
    this.tree.link(`class/nvme/${this.nodeOf(address)}`, path);
  }

  #showFirmware({ firmware }: NvmeDevice, node: string): void {
    this.tree.write(`class/nvme/${node}/firmware_rev`, `${firmware.padEnd(8)}\n`);
  }

  #hide(address: string): void {
    rmSync(join(this.tree.root, `class/nvme/${this.nodeOf(address)}`), { force: true });
    const path = join(this.tree.root, this.tree.pathOf(address), 'nvme');
    rmSync(path, { recursive: true, force: true });
  }

  #answer(device: NvmeDevice, verb: string, args: readonly string[], node: string): Answer {
    const options = new Map(args.map((each) => each.split('=') as [string, string]));
    const number = (option: string) => Number(options.get(`--${option}`) ?? 0);
    const isSanitizing = (device.sstat & 0x7) === running;
    if (isSanitizing && ['format', 'sanitize', 'delete-ns', 'create-ns'].includes(verb)) {
      return refused('Sanitize In Progress', 0x1d);
    }
    const hasFailed = (device.sstat & 0x7) === failed && (device.cdw10 & 0x8) === 0;
    if (hasFailed && verb === 'format') return refused('Sanitize Failed', 0x1c);
    switch (verb) {
      case 'id-ctrl':
        return answer(identityOf(device));
      case 'smart-log':
        return answer(JSON.stringify({ critical_warning: device.warning, temperature: 310 }));
      case 'sanitize-log':
        return answer(JSON.stringify({ [node]: this.#logOf(device) }));
      case 'list-ns': {
        const all = device.namespaces.filter((each) => each.attached || args.includes('--all'));
        return answer(JSON.stringify({ nsid_list: all.map(({ nsid }) => ({ nsid })) }));
      }
      case 'id-ns':
        return answer(JSON.stringify({ flbas: 1, fpi: 0x80, lbafs: [{ ds: 9 }, { ds: 12 }] }));
      case 'show-regs':
        return answer(JSON.stringify(this.#registersOf(device)));
      case 'sanitize':
        return sanitize(device, number('sanact'));
      case 'format':
        device.dirty.delete('media');
        return answer(`Success formatting namespace:${number('namespace-id')}`);
      case 'delete-ns':
        device.namespaces = [];
        return answer('delete-ns: Success, deleted nsid:-1');
      case 'create-ns':
        device.namespaces = [{ nsid: 1, attached: false }];
        return answer('create-ns: Success, created nsid:1');
      case 'attach-ns':
        device.namespaces = device.namespaces.map(({ nsid }) => ({ nsid, attached: true }));
        return answer('attach-ns: Success, nsid:1');
      case 'fw-download':
        device.image = firstLineOf(options.get('--fw') ?? '');
        return answer('Firmware download success');
      case 'fw-log':
        return answer(JSON.stringify({ [node]: slotsOf(device) }));
      case 'reset':
        restart(device, 'any controller');
        this.#showFirmware(device, node);
        return answer('');
      case 'fw-commit':
        if (number('action') < 6) return commit(device, number('slot'), number('action'));
        device.dirty.delete(number('bpid') === 0 ? 'boot 0' : 'boot 1');
        return answer('Success committing firmware action:6 slot:0');
      default:
        return { exitCode: 1, stdout: '', stderr: `ERROR: Invalid sub-command '${verb}'` };
    }
  }

  /** nvme-cli 2.7 to 2.8 have the status under its own text (test/tools/nvme-cli/). */
  #logOf(device: NvmeDevice): unknown {
    const { sstat, ...log } = logOf(device);
    const { status, ...others } = sstat;
    const key = this.version === '2.8' ? status.replace(/^\(\d\) /, '') : 'status';
    return { ...log, sstat: { ...others, [key]: status } };
  }

  /** nvme-cli 2.11 and 2.12 describe each register (test/tools/nvme-cli/). */
  #registersOf({ hasRegisters, bpinfo }: NvmeDevice): unknown {
    const [vs, size] = hasRegisters ? [0x10400, bpinfo] : [-1, -1];
    if (this.version !== '2.11') return { vs, bpinfo: size };
    const hex = (value: number) => (value >>> 0).toString(16);
    return { vs: [{ Version: hex(vs) }], bpinfo: [{ bpinfo: hex(size) }] };
  }
}

function answer(stdout: string): Answer {
  return { exitCode: 0, stdout, stderr: '' };
}

function refused(what: string, status: number): Answer {
  return { exitCode: 1, stdout: '', stderr: `NVMe status: ${what}(0x${status.toString(16)})\n` };
}

function identityOf(device: NvmeDevice): string {
  return JSON.stringify({
    vid: 5197,
    sn: device.serial.padEnd(20),
    mn: device.model.padEnd(40),
    fr: device.firmware.padEnd(8),
    cntlid: 4,
    oacs: device.oacs,
    fna: device.fna,
    frmw: device.frmw,
    sanicap: device.sanicap,
    unvmcap: device.namespaces.length === 0 ? capacity : 0,
  });
}

/** Boot partitions are written from files of zeros, which are long. */
function firstLineOf(path: string): string {
  const bytes = readFileSync(path).subarray(0, 64).toString('latin1');
  return bytes.split('\n')[0]?.replaceAll('\0', '') ?? '';
}

function slotsOf({ slots, runningSlot, nextSlot = 0 }: NvmeDevice): Record<string, unknown> {
  const shown = [...slots].map(([slot, firmware]) => {
    const bytes = Buffer.from(firmware.padEnd(8), 'latin1');
    const text = bytes.toString('latin1').replaceAll(/[^!-~]/g, '.');
    return [`Firmware Rev Slot ${slot}`, `${bytes.readBigUInt64LE()} (${text})`] as const;
  });
  const active = runningSlot | (nextSlot << 4);
  return { 'Active Firmware Slot (afi)': active, ...Object.fromEntries(shown) };
}

const resetStatuses = {
  conventional: ['Firmware Activation Requires Conventional Reset', 0x10b],
  subsystem: ['Firmware Activation Requires NVM Subsystem Reset', 0x110],
  'any controller': ['Firmware Activation Requires Controller Level Reset', 0x111],
} as const;

function commit(device: NvmeDevice, slot: number, action: number): Answer {
  const { frmw, slots, image } = device;
  const count = (frmw >> 1) & 0x7;
  if (slot > count || (slot === 1 && (frmw & 0x1) === 1 && action < 2)) {
    return refused('Invalid Firmware Slot', 0x106);
  }
  if (action === 0) {
    if (image.startsWith('not firmware')) return refused('Invalid Firmware Image', 0x107);
    slots.set(slot, image);
  } else if (!slots.has(slot)) {
    return refused('Invalid Firmware Image', 0x107);
  } else {
    device.nextSlot = slot;
    if (device.needsReset) {
      const [what, status] = resetStatuses[device.needsReset];
      return refused(what, status);
    }
    if (action === 3) restart(device, 'any controller');
  }
  return answer(`Success committing firmware action:${action} slot:${slot}`);
}

/** What the reset activates. */
function restart(device: NvmeDevice, reset: NvmeDevice['needsReset']): void {
  const { nextSlot, slots, needsReset = 'any controller' } = device;
  if (nextSlot === undefined || (reset ?? 'any controller') !== needsReset) return;
  device.runningSlot = nextSlot;
  device.nextSlot = undefined;
  device.firmware = slots.get(device.runningSlot) ?? '';
}

function sanitize(device: NvmeDevice, action: number): Answer {
  if (action === 1) {
    const isUnrestricted = (device.cdw10 & 0x8) !== 0;
    if (!isUnrestricted) return refused('Sanitize Failed', 0x1c);
    device.sstat = 0;
    return answer('');
  }
  const bit = { 4: 0x1, 2: 0x2, 3: 0x4 }[action] ?? 0;
  if ((device.sanicap & bit) === 0) return refused('Invalid Field in Command', 0x2);
  Object.assign(device, { sstat: running, sprog: 0, cdw10: action });
  return answer('');
}

function logOf(device: NvmeDevice) {
  if ((device.sstat & 0x7) === running) {
    device.sprog += Math.floor(0x10000 / (device.polls + 1));
    if (device.sprog > 0xffff - device.polls) {
      const hasFailed = device.failing.has(device.cdw10 & 0x7);
      device.sprog = 0xffff;
      device.sstat = hasFailed ? failed : completed | erased;
      if (!hasFailed) device.dirty.delete('media');
    }
  }
  const names = ['Never', 'Completed', 'In Progress', 'Failed'];
  const state = device.sstat & 0x7;
  return {
    sprog: device.sprog,
    sstat: {
      global_erased: device.sstat >> 8,
      no_cmplted_passes: 0,
      status: `(${state}) ${names[state]}`,
    },
    cdw10_info: device.cdw10,
    time_over_write: 0xffffffff,
  };
}
