// The kernel's side of the class fpga_manager with the files of AMD's kernels, simulated over a
// sysfs tree: what a write of `firmware` does to the state, and its errnos.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { HardwareError } from '#agent/hardware/errno.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { PciKernel } from '#test/drivers/pci/kernel.ts';
import type { SysfsTree } from '#test/support/hosts/sysfs.ts';

interface SimulatedManager {
  /** What the FPGA has taken, with the flags of the write. */
  readonly loaded: { readonly flags: string; readonly bytes: Buffer }[];
  /** How the next images end. */
  fails?: { readonly code: string; readonly state: string; readonly status?: string };
  /** The state after a write that succeeds. */
  ends: string;
}

export class FpgaManagerKernel {
  /** In place of /lib/firmware. */
  readonly firmware: string;
  readonly #tree: SysfsTree;
  readonly #pci: PciKernel;
  readonly #managers = new Map<string, SimulatedManager>();

  constructor(tree: SysfsTree, firmware: string) {
    this.#tree = tree;
    this.firmware = firmware;
    this.#pci = new PciKernel(tree, {});
  }

  add(name: string, { isMainline = false } = {}): SimulatedManager {
    const manager: SimulatedManager = { loaded: [], ends: 'operating' };
    const path = `devices/platform/${name}-parent/fpga_manager/${name}`;
    this.#tree.write(`${path}/name`, 'Xilinx ZynqMP FPGA Manager\n');
    this.#tree.write(`${path}/state`, 'unknown\n').write(`${path}/status`, '');
    if (!isMainline) this.#tree.write(`${path}/flags`, '0\n').write(`${path}/firmware`, '');
    this.#tree.link(`class/fpga_manager/${name}`, path);
    this.#managers.set(name, manager);
    return manager;
  }

  at(name: string): SimulatedManager {
    const found = this.#managers.get(name);
    if (!found) throw new Error(`No manager ${name}.`);
    return found;
  }

  boot(): void {
    for (const name of this.#managers.keys()) this.write(name, 'state', 'unknown');
  }

  write(name: string, attribute: string, text: string): void {
    this.#tree.write(`class/fpga_manager/${name}/${attribute}`, `${text}\n`);
  }

  hardware(): Pick<Hardware, 'writeText'> {
    return {
      writeText: async (device, path, text) => {
        const name = path.split('/').at(-2) ?? '';
        if (!path.startsWith('class/fpga_manager/')) {
          await this.#pci.hardware().writeText(device, path, text);
        } else if (basename(path) === 'firmware') this.#load(name, text);
        else if (existsSync(join(this.#tree.root, path))) this.write(name, basename(path), text);
        else throw new HardwareError('ENOENT', `${path} cannot be opened`);
      },
    };
  }

  #load(name: string, text: string): void {
    const manager = this.at(name);
    const file = join(this.firmware, text);
    // A name with a slash leaves the folder, which the kernel allows.
    if (text.includes('/') || !existsSync(file)) {
      this.write(name, 'state', 'firmware request error');
      throw new HardwareError('ENOENT', 'firmware');
    }
    const { fails } = manager;
    if (fails) {
      this.write(name, 'state', fails.state);
      if (fails.status) this.write(name, 'status', fails.status);
      throw new HardwareError(fails.code, 'firmware');
    }
    const flags = join(this.#tree.root, `class/fpga_manager/${name}/flags`);
    manager.loaded.push({ flags: readFileSync(flags, 'utf8').trim(), bytes: readFileSync(file) });
    this.write(name, 'state', manager.ends);
    writeFileSync(join(this.#tree.root, `class/fpga_manager/${name}/firmware`), '');
  }
}
