// The kernel's side of network cards, simulated over a sysfs tree: interfaces, virtual functions,
// and the program `ip` with the JSON, the exit codes and the messages of iproute2 6.1 on a real
// kernel with an emulated card (driver igb), where test/kernel/scenarios/drivers/nic.ts has met
// it.

import { readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { HardwareError } from '#agent/hardware/errno.ts';
import type { Answer, Hardware } from '#agent/hardware/port.ts';
import { PciKernel } from '#test/drivers/pci/kernel.ts';
import type { PciFunctionGiven, SysfsTree } from '#test/support/hosts/sysfs.ts';

interface SimulatedFunction {
  address: string;
  vlan: number;
  qos: number;
  max: number;
  min: number;
  spoofchk: boolean | undefined;
  trust: boolean;
  state: 'auto' | 'enable' | 'disable';
}

export interface SimulatedCard {
  interface: string;
  flags: string[];
  switchId: string | undefined;
  /** Keys are their numbers. */
  readonly functions: Map<number, SimulatedFunction>;
  /** What `ip` says when this is set, by its word; once, if the card is only busy. */
  readonly refuses: Map<string, { readonly says: string; readonly once?: boolean }>;
}

/** The firmware of a card, as its driver shows it to devlink. */
export interface SimulatedFirmware {
  running: Record<string, string>;
  stored: Record<string, string>;
  /** `fw_activate`, for example. */
  reloads: string[];
  /** The card has not come back from a reload. */
  hasFailed: boolean;
  /** What devlink says when this is asked for: `flash`, `reload` or `info`. */
  readonly refuses: Map<string, string>;
  /** What happens while the card is flashed or reloads; what asks the card then waits. */
  meanwhile?: () => Promise<void>;
}

const folderParameter = 'module/firmware_class/parameters/path';
const noMac = '00:00:00:00:00:00';
export const untouched: SimulatedFunction = {
  address: noMac,
  vlan: 0,
  qos: 0,
  max: 0,
  min: 0,
  spoofchk: true,
  trust: false,
  state: 'auto',
};
const succeeded: Answer = { exitCode: 0, stdout: '', stderr: '' };

/** Runs of programs that change nothing. */
export function isReading(tool: string, args: readonly string[]): boolean {
  return (
    (tool === 'devlink' && !/flash|reload/.test(args.join(' '))) ||
    (tool === 'ip' && args.includes('show'))
  );
}

export class NicKernel {
  readonly tree: SysfsTree;
  readonly pci: PciKernel;
  readonly #cards = new Map<string, SimulatedCard>();
  /** Command lines of `ip` and `devlink` that change something. */
  readonly ran: string[] = [];
  /** In place of what `ip` prints. */
  output: string | Error | undefined;
  readonly #firmware = new Map<string, SimulatedFirmware>();
  readonly #busy = new Set<string>();
  /** In place of what `devlink` prints; it is not installed without any firmware. */
  devlink: string | undefined;
  /** The card of the interface, if it is another one. */
  parent: string | undefined;

  constructor(tree: SysfsTree) {
    this.tree = tree;
    this.pci = new PciKernel(tree, {
      vendor: '8086',
      product: '154c',
      subsystem: '8086:0000',
      classCode: '020000',
      driver: undefined,
    });
  }

  /** On the driver of its vendor, with an interface. */
  addCard(given: PciFunctionGiven, name: string): this {
    const ids = { vendor: '8086', product: '1572', subsystem: '8086:0001', classCode: '020000' };
    this.pci.addCard({ ...ids, driver: 'i40e', sriovTotalvfs: 64, ...given });
    this.#cards.set(given.address, {
      interface: name,
      flags: ['BROADCAST', 'UP', 'LOWER_UP'],
      switchId: undefined,
      functions: new Map(),
      refuses: new Map(),
    });
    return this.addInterface(given.address, name);
  }

  addInterface(address: string, name: string, port?: string): this {
    const path = `${this.tree.pathOf(address)}/net/${name}`;
    this.tree.write(`${path}/ifindex`, `${name.length}\n`).link(`class/net/${name}`, path);
    if (port !== undefined) this.tree.write(`${path}/phys_port_name`, `${port}\n`);
    return this;
  }

  removeInterface(address: string, name: string): void {
    rmSync(join(this.tree.root, this.tree.pathOf(address), 'net', name), { recursive: true });
    rmSync(join(this.tree.root, 'class/net', name));
  }

  at(address: string): SimulatedCard {
    const found = this.#cards.get(address);
    if (!found) throw new Error(`No card at ${address}.`);
    return found;
  }

  /** Virtual functions that exist before the agent. */
  addFunctions(address: string, count: number, given: Partial<PciFunctionGiven> = {}): this {
    const ids = { vendor: '8086', product: '154c', classCode: '020000' };
    this.tree.addVirtualFunctions(address, count, { ...ids, ...given });
    this.#makeFunctions(address, count);
    return this;
  }

  /** An image that is flashed is the version that the card then stores. */
  addFirmware(address: string, version: string): SimulatedFirmware {
    const firmware: SimulatedFirmware = {
      running: { 'fw.mgmt': version },
      stored: { 'fw.mgmt': version },
      hasFailed: false,
      reloads: ['driver_reinit', 'fw_activate'],
      refuses: new Map(),
    };
    this.#firmware.set(address, firmware);
    if (this.folder === undefined) this.tree.write(folderParameter, '\n');
    return firmware;
  }

  /** Where the kernel looks for firmware first. */
  get folder(): string | undefined {
    try {
      return readFileSync(join(this.tree.root, folderParameter), 'utf8').trimEnd();
    } catch {
      return undefined;
    }
  }

  set folder(path: string) {
    this.tree.write(folderParameter, `${path}\n`);
  }

  functionAt(card: string, number: number): SimulatedFunction {
    const found = this.at(card).functions.get(number);
    if (!found) throw new Error(`The card ${card} has no function ${number}.`);
    return found;
  }

  reboot(): void {
    this.pci.reboot([...this.#cards.keys()]);
    for (const { functions } of this.#cards.values()) functions.clear();
  }

  hardware(): Pick<Hardware, 'writeText' | 'exec'> {
    const { writeText } = this.pci.hardware();
    return {
      writeText: async (device, path, text) => {
        if (path === folderParameter) {
          const [before = ''] = text.split('\0');
          this.folder = before;
          return;
        }
        await writeText(device, path, text);
        if (basename(path) === 'sriov_numvfs') this.#makeFunctions(device, Number(text));
      },
      exec: async (device, tool, args) => {
        if (args[0] === '-V') return { ...succeeded, stdout: `${tool} utility, iproute2-6.1.0\n` };
        if (this.#busy.has(device)) throw new Error(`${tool} waits for the devlink of ${device}.`);
        if (tool === 'devlink' && this.devlink) return { ...succeeded, stdout: this.devlink };
        const firmware = this.#firmware.get(args.join(' ').match(/pci\/(\S+)/)?.[1] ?? '');
        if (firmware?.meanwhile && !isReading(tool, args)) {
          this.#busy.add(device);
          await firmware.meanwhile();
          this.#busy.delete(device);
        }
        if (tool === 'devlink' && firmware) return this.#devlink(firmware, args);
        if (tool !== 'ip') throw new HardwareError('ENOENT', `${tool} is in no folder`);
        return args.includes('show') ? this.#show(args.at(-1) ?? '') : this.#set(args);
      },
    };
  }

  /** As the program of iproute2 6.1; test/kernel/scenarios/devlink.ts has met it. */
  #devlink(firmware: SimulatedFirmware, args: readonly string[]): Answer {
    const [, verb = '', handle = '', , file = '', , part = 'fw.mgmt'] = args.filter(
      (each) => !each.startsWith('-'),
    );
    // Unlike `ip`, it takes long options with two hyphens only.
    const unknown = args.find((each) => each.startsWith('-') && !/^-(j|s|-json)$/.test(each));
    if (unknown) return { ...succeeded, exitCode: 1, stderr: `invalid option ${unknown}\n` };
    const refusal = firmware.refuses.get(verb);
    if (refusal !== undefined) return { ...succeeded, exitCode: 1, stderr: `${refusal}\n` };
    const { running, stored, reloads } = firmware;
    if (verb === 'info') {
      const shown = { driver: 'i40e', versions: { fixed: {}, running, stored } };
      return { ...succeeded, stdout: JSON.stringify({ info: { [handle]: shown } }) };
    }
    if (verb === 'show') {
      const reload = Object.fromEntries(reloads.map((each) => [each, { unspecified: 0 }]));
      const shown = { ...(firmware.hasFailed && { reload_failed: true }), stats: { reload } };
      return { ...succeeded, stdout: JSON.stringify({ dev: { [handle]: shown } }) };
    }
    this.ran.push(args.join(' '));
    if (verb === 'flash') {
      const image = readFileSync(join(this.folder ?? '', file), 'utf8');
      stored[part] = image.trim();
    }
    if (verb === 'reload') Object.assign(running, stored);
    return succeeded;
  }

  #makeFunctions(address: string, count: number): void {
    const { functions } = this.at(address);
    functions.clear();
    for (let number = 0; number < count; number += 1) functions.set(number, { ...untouched });
  }

  #cardOf(name: string): readonly [string, SimulatedCard] | undefined {
    return [...this.#cards].find(([, each]) => each.interface === name);
  }

  #show(name: string): Answer {
    if (this.output instanceof Error) throw this.output;
    if (this.output !== undefined) return { ...succeeded, stdout: this.output };
    const [address, card] = this.#cardOf(name) ?? [];
    if (!card) return { ...succeeded, exitCode: 1, stderr: `Device "${name}" does not exist.` };
    const link = {
      ifindex: 2,
      ifname: name,
      flags: card.flags,
      mtu: 1500,
      operstate: 'UP',
      parentbus: 'pci',
      parentdev: this.parent ?? address,
      ...(card.switchId && { phys_port_name: 'p0', phys_switch_id: card.switchId }),
      vfinfo_list: [...card.functions].map(([vf, each]) => ({
        vf,
        link_type: 'ether',
        address: each.address,
        broadcast: 'ff:ff:ff:ff:ff:ff',
        vlan_list: [each.vlan ? { vlan: each.vlan, ...(each.qos && { qos: each.qos }) } : {}],
        rate: { max_tx: each.max, min_tx: each.min },
        ...(each.spoofchk !== undefined && { spoofchk: each.spoofchk }),
        link_state: each.state,
        trust: each.trust,
      })),
    };
    return { ...succeeded, stdout: JSON.stringify([link]) };
  }

  #set(args: readonly string[]): Answer {
    const [, , , name = '', , number, ...words] = args;
    this.ran.push(words.join(' '));
    const [, card] = this.#cardOf(name) ?? [];
    const fn = card?.functions.get(Number(number));
    if (!card || !fn) return failed('RTNETLINK answers: Invalid argument');
    const refusal = card.refuses.get(words[0] ?? '');
    if (refusal?.once) card.refuses.delete(words[0] ?? '');
    if (refusal) return failed(refusal.says);
    for (let at = 0; at < words.length; at += 2) set(fn, words[at] ?? '', words[at + 1] ?? '');
    if (words.includes('vlan') && !words.includes('qos')) fn.qos = 0;
    return succeeded;
  }
}

function failed(stderr: string): Answer {
  return { exitCode: 2, stdout: '', stderr: `${stderr}\n` };
}

function set(fn: SimulatedFunction, word: string, value: string): void {
  if (word === 'mac') fn.address = value;
  if (word === 'vlan') fn.vlan = Number(value);
  if (word === 'qos') fn.qos = Number(value);
  if (word === 'max_tx_rate') fn.max = Number(value);
  if (word === 'min_tx_rate') fn.min = Number(value);
  if (word === 'spoofchk') fn.spoofchk = value === 'on';
  if (word === 'trust') fn.trust = value === 'on';
  if (word === 'state') fn.state = value === 'enable' || value === 'disable' ? value : 'auto';
}
