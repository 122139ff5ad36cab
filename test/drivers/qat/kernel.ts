// The kernel's side of QAT cards, simulated over a sysfs tree: the files and errors of the
// kernel's driver, as its source and its documentation of the ABI have them.

import { readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { HardwareError } from '#agent/hardware/errno.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { PciKernel } from '#test/drivers/pci/kernel.ts';
import type { PciFunctionGiven, SysfsTree } from '#test/support/hosts/sysfs.ts';

export interface SimulatedQat {
  state: 'up' | 'down';
  services: string;
  /** The card answers its heartbeat. */
  isAlive: boolean;
  /** The kernel's own cryptography uses the card. */
  isBusy: boolean;
  /** The firmware does not start with these services. */
  fails: string | undefined;
  /** The driver takes a write of services and keeps the ones before. */
  ignores: boolean;
}

const known = /^(sym|asym|dc|dcc|decomp)(;(sym|asym|dc|decomp))*$/;

export class QatKernel {
  readonly tree: SysfsTree;
  readonly #pci: PciKernel;
  readonly #cards = new Map<string, SimulatedQat>();
  /** Paths and texts, in their order. */
  readonly written: string[] = [];

  constructor(tree: SysfsTree) {
    this.tree = tree;
    this.#pci = new PciKernel(tree, {
      vendor: '8086',
      product: '4941',
      subsystem: '8086:0000',
      classCode: '0b4000',
      driver: undefined,
    });
  }

  /** Generation 4 or later, up, with the services that the kernel's driver sets. */
  addCard(given: PciFunctionGiven, card: Partial<SimulatedQat> = {}, total = 4): this {
    this.addOld({ product: '4940', driver: '4xxx', ...given }, total);
    const { address } = given;
    const added = {
      state: 'up' as const,
      services: 'sym;asym',
      isAlive: true,
      isBusy: false,
      fails: undefined,
      ignores: false,
      ...card,
    };
    this.#cards.set(address, added);
    const path = this.tree.pathOf(address);
    this.tree.write(`${path}/qat/num_rps`, '64\n');
    this.#show(address);
    return this;
  }

  /** Adds a card of a family without settings. */
  addOld(given: PciFunctionGiven, total = 4): this {
    const ids = { vendor: '8086', subsystem: '8086:0000', classCode: '0b4000' };
    this.#pci.addCard({ ...ids, sriovTotalvfs: total, ...given });
    return this;
  }

  at(address: string): SimulatedQat {
    const found = this.#cards.get(address);
    if (!found) throw new Error(`No card at ${address}.`);
    return found;
  }

  virtualOf(address: string): string[] {
    return this.#pci.virtualOf(address);
  }

  /** The heartbeat's file of a card; it is there while the card is up. */
  heartbeat(address: string, text: string, device = '4xxx'): void {
    this.tree.write(`kernel/debug/qat_${device}_${address}/heartbeat/status`, text);
  }

  reboot(): void {
    this.#pci.reboot([...this.#cards.keys()]);
    for (const [address, card] of this.#cards) {
      Object.assign(card, { state: 'up', services: 'sym;asym' });
      this.#show(address);
    }
  }

  hardware(): Pick<Hardware, 'writeText'> {
    const { writeText } = this.#pci.hardware();
    return {
      writeText: async (device, path, text) => {
        const name = basename(path);
        this.written.push(`${name} ${text}`);
        if (path.includes('/qat/')) return this.#set(device, name, text);
        if (name !== 'sriov_numvfs') return await writeText(device, path, text);
        const failing = this.#cards.get(device);
        if (failing?.fails === failing?.services && failing) throw new HardwareError('EIO', name);
        // The driver makes all of them, whatever number is asked for.
        await writeText(device, path, text === '0' ? '0' : this.#totalOf(device));
        const card = this.#cards.get(device);
        if (card) card.state = 'up';
        this.#show(device);
      },
    };
  }

  #totalOf(address: string): string {
    const path = join(this.tree.root, this.tree.pathOf(address), 'sriov_totalvfs');
    return readFileSync(path, 'utf8').trim();
  }

  #set(address: string, name: string, text: string): void {
    const card = this.at(address);
    if (name === 'state') {
      if (card.isBusy) throw new HardwareError('EBUSY', name);
      if (text !== 'up' && text !== 'down') throw new HardwareError('EINVAL', name);
      if (text === 'up' && card.fails === card.services) throw new HardwareError('EIO', name);
      // Its virtual functions go with it.
      if (text === 'down') this.#pci.effect(`bus/pci/devices/${address}/sriov_numvfs`, '0');
      card.state = text;
    } else if (name === 'cfg_services') {
      if (card.state === 'up' || !known.test(text)) throw new HardwareError('EINVAL', name);
      if (!card.ignores) card.services = text;
    }
    this.#show(address);
  }

  #show(address: string): void {
    const card = this.#cards.get(address);
    if (!card) return;
    const path = this.tree.pathOf(address);
    this.tree.write(`${path}/qat/state`, `${card.state}\n`);
    this.tree.write(`${path}/qat/cfg_services`, `${card.services}\n`);
    if (card.state === 'up') {
      this.heartbeat(address, card.isAlive ? '0\n\0' : '-1\n\0');
      for (const each of ['correctable', 'nonfatal', 'fatal']) {
        this.tree.write(`${path}/qat_ras/errors_${each}`, '0\n');
      }
      return;
    }
    const files = [`kernel/debug/qat_4xxx_${address}/heartbeat`, `${path}/qat_ras`];
    for (const each of files) rmSync(join(this.tree.root, each), { recursive: true, force: true });
  }
}
