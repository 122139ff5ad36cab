// The kernel's side of host setup over a sysfs tree: the effects and errors of writes to
// `sriov_numvfs`, `unbind` and `drivers_probe`.

import {
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { HardwareError } from '#agent/hardware/errno.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import type { PciFunctionGiven, SysfsTree } from '#test/support/hosts/sysfs.ts';

export interface PciKernelFaults {
  /** The number that the driver of the card makes, whatever is written. */
  readonly made?: number;
  /** No driver takes a function. */
  readonly probe?: boolean;
}

export class PciKernel {
  readonly #tree: SysfsTree;
  readonly #virtual: Partial<PciFunctionGiven>;
  readonly #faults: PciKernelFaults;

  /** @param virtual what the virtual functions of all cards are like */
  constructor(tree: SysfsTree, virtual: Partial<PciFunctionGiven>, faults: PciKernelFaults = {}) {
    this.#tree = tree;
    this.#virtual = virtual;
    this.#faults = faults;
    tree.write('bus/pci/drivers_probe', '');
  }

  /** A card that can have virtual functions. */
  addCard(given: PciFunctionGiven): this {
    this.#tree
      .addFunction(given)
      .write(`${this.#tree.pathOf(given.address)}/sriov_vf_device`, `${this.#virtual.product}\n`)
      .write(`${this.#tree.pathOf(given.address)}/sriov_drivers_autoprobe`, '1\n');
    return this;
  }

  virtualOf(card: string): string[] {
    const root = join(this.#tree.root, 'bus/pci/devices');
    const isOfCard = (address: string) => linkOf(join(root, address, 'physfn')) === card;
    return readdirSync(root).filter(isOfCard).sort();
  }

  /** Writes the tree's files, without children. */
  hardware(): Pick<Hardware, 'writeText'> {
    return {
      writeText: async (_device, path, text) => {
        const file = join(this.#tree.root, path);
        if (!lstatSync(file, { throwIfNoEntry: false })) throw new HardwareError('ENOENT', path);
        writeFileSync(file, text);
        this.effect(path, text);
      },
    };
  }

  /** What the kernel does at a write. @throws HardwareError */
  effect(path: string, text: string): void {
    const name = basename(path);
    if (name === 'sriov_numvfs') this.#count(path, Number(text));
    if (name === 'unbind') this.#bind(text, undefined);
    if (name === 'drivers_probe' && this.#faults.probe !== false) {
      const override = join(this.#tree.root, this.#tree.pathOf(text), 'driver_override');
      this.#bind(text, readFileSync(override, 'utf8').trim());
    }
  }

  /** A boot: no card has virtual functions. */
  reboot(cards: readonly string[]): void {
    for (const card of cards) this.#count(`bus/pci/devices/${card}/sriov_numvfs`, 0);
  }

  #count(path: string, asked: number): void {
    const card = path.split('/').at(-2) ?? '';
    const before = this.virtualOf(card);
    if (asked > 0 && before.length > 0) throw new HardwareError('EBUSY', path);
    const folder = join(this.#tree.root, this.#tree.pathOf(card));
    for (const link of readdirSync(folder).filter((each) => each.startsWith('virtfn'))) {
      rmSync(join(folder, link));
    }
    for (const each of before) this.#tree.removeFunction(each);
    const made = this.#faults.made ?? asked;
    if (asked > 0) this.#tree.addVirtualFunctions(card, made, this.#virtual);
    this.#tree.write(`${this.#tree.pathOf(card)}/sriov_numvfs`, `${made}\n`);
  }

  #bind(address: string, driver: string | undefined): void {
    const folder = join(this.#tree.root, this.#tree.pathOf(address));
    const uevent = readFileSync(join(folder, 'uevent'), 'utf8').replace(/^DRIVER=.*\n/m, '');
    writeFileSync(join(folder, 'uevent'), driver ? `DRIVER=${driver}\n${uevent}` : uevent);
    rmSync(join(folder, 'driver'), { force: true });
    if (driver) symlinkSync(`../../../bus/pci/drivers/${driver}`, join(folder, 'driver'));
  }
}

function linkOf(path: string): string | undefined {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink();
  return isLink ? basename(readlinkSync(path)) : undefined;
}
