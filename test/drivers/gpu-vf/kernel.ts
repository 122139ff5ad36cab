// The kernel's side of divided GPUs over a sysfs tree: drivers xe and i915 of Intel, and AMD's
// gim, with the effects and the errors of writes to their files. Written from the kernel's ABI and
// from the drivers' published sources, and compared with no card.

import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { HardwareError } from '#agent/hardware/errno.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { PciKernel } from '#test/drivers/pci/kernel.ts';
import type { PciFunctionGiven, SysfsTree } from '#test/support/hosts/sysfs.ts';

const page = 2 * 1024 * 1024;

interface Card {
  readonly kind: 'xe' | 'i915' | 'gim';
  readonly pci: PciKernel;
  /** In bytes. */
  readonly vram: number;
  readonly total: number;
}

const products = {
  xe: ['8086', 'e211', 'e211'],
  i915: ['8086', '56c0', '56c0'],
  gim: ['1002', '74a1', '74b5'],
} as const;

export class GpuVfKernel {
  readonly tree: SysfsTree;
  readonly #cards = new Map<string, Card>();
  /** Written files and texts, without those of driver `pci`. */
  readonly writes: string[] = [];
  /** Writes to the file succeed, without an effect. */
  ignored: string | undefined;
  /** xe sets the scheduling of all functions when it makes them, whatever was written before. */
  setsScheduling = false;
  /** Reads of a partition of gim until it has been applied. */
  resetReads = 2;
  #pending: { readonly file: string; readonly text: string; reads: number } | undefined;

  constructor(tree: SysfsTree) {
    this.tree = tree;
  }

  add(kind: Card['kind'], given: PciFunctionGiven, { total = 4, vram = 16 * 2 ** 30 } = {}): this {
    const { address } = given;
    const [vendor, product, virtual] = products[kind];
    const classCode = kind === 'gim' ? '120000' : '030000';
    const pci = new PciKernel(this.tree, {
      vendor,
      product: virtual,
      classCode,
      driver: undefined,
    });
    const ids = { vendor, product, classCode, subsystem: `${vendor}:0001`, sriovTotalvfs: total };
    pci.addCard({ ...ids, driver: kind, ...given });
    this.#cards.set(address, { kind, pci, vram, total });
    for (let number = 1; number <= total; number += 1) {
      if (kind === 'xe') this.#clearXe(address, number);
      if (kind === 'i915') this.#clearI915(address, number);
    }
    const path = this.tree.pathOf(address);
    if (kind === 'xe') this.tree.write(`${path}/sriov_admin/.bulk_profile/sched_priority`, '');
    if (kind === 'i915') {
      this.tree.write(`${path}/drm/card1/prelim_iov/pf/auto_provisioning`, '1\n');
    }
    if (kind === 'gim') this.#loadGim(address);
    return this;
  }

  text(address: string, file: string): string {
    return readFileSync(join(this.tree.root, this.tree.pathOf(address), file), 'utf8').trim();
  }

  /** The file of each virtual function that exists. */
  shares(address: string, file: string): string[] {
    const { pci } = this.#at(address);
    return pci
      .virtualOf(address)
      .map((_, index) => this.text(address, file.replace('N', `${index + 1}`)));
  }

  reboot(): void {
    for (const [address, { kind, pci, total }] of this.#cards) {
      // gim makes its functions again, and keeps the partitions in /etc/gim_config.
      pci.reboot([address]);
      if (kind === 'gim') pci.effect(`bus/pci/devices/${address}/sriov_numvfs`, String(total));
      for (let number = 1; number <= total; number += 1) {
        if (kind === 'xe') this.#clearXe(address, number);
        if (kind === 'i915') this.#clearI915(address, number);
      }
    }
  }

  hardware(): Pick<Hardware, 'writeText' | 'readText'> {
    return {
      readText: async (_device, path) => {
        const file = join(this.tree.root, path);
        if (!existsSync(file)) throw new HardwareError('ENOENT', path);
        const pending = this.#pending;
        if (pending?.file === basename(path) && --pending.reads <= 0) {
          this.#applyPartition(pending);
        }
        return readFileSync(file, 'utf8').trimEnd();
      },
      writeText: async (_device, path, text) => {
        const file = join(this.tree.root, path);
        if (!existsSync(file)) throw new HardwareError('ENOENT', path);
        const address = /devices\/([^/]+)\//.exec(path)?.[1] ?? '';
        const card = this.#cards.get(address);
        const below = path.slice(path.indexOf(address) + address.length + 1);
        if (basename(path) === 'sriov_numvfs' && card) this.#count(address, card, Number(text));
        else if (card && /^(sriov_admin|drm)\/|partition/.test(below)) {
          this.writes.push(`${below} ${text.trim()}`);
          if (basename(path) !== this.ignored) this.#share(address, card, below, text.trim());
        } else {
          this.tree.write(path, text);
          (card ?? [...this.#cards.values()][0])?.pci.effect(path, text);
        }
      },
    };
  }

  #at(address: string): Card {
    const card = this.#cards.get(address);
    if (!card) throw new Error(`No card at ${address}.`);
    return card;
  }

  #write(address: string, file: string, text: string): void {
    this.tree.write(`${this.tree.pathOf(address)}/${file}`, `${text}\n`);
  }

  #clearXe(address: string, number: number): void {
    const folder = `sriov_admin/vf${number}/profile`;
    for (const name of ['vram_quota', 'exec_quantum_ms', 'preempt_timeout_us']) {
      this.#write(address, `${folder}/${name}`, '0');
    }
    this.#write(address, `${folder}/sched_priority`, '[low] normal');
  }

  #clearI915(address: string, number: number): void {
    const names = ['lmem_quota', 'ggtt_quota', 'contexts_quota', 'doorbells_quota'];
    for (const name of [...names, 'exec_quantum_ms', 'preempt_timeout_us']) {
      this.#write(address, `drm/card1/prelim_iov/vf${number}/gt/${name}`, '0');
    }
  }

  /** gim makes its functions when it is loaded, by its parameter; here all that there are. */
  #loadGim(address: string): void {
    const { pci, total } = this.#at(address);
    pci.effect(`bus/pci/devices/${address}/sriov_numvfs`, String(total));
    this.#write(address, 'memory_partition_mode', 'memory_partition_mode: NPS1\nnuma_count: 1');
    const head = 'profile_index       profile_type        num_of_partitions   num_of_resources';
    const row = (index: number, type: string, count: number) =>
      `${String(index).padEnd(20)}${type.padEnd(20)}${String(count).padEnd(20)}`;
    this.#write(
      address,
      'accelerator_partition_profile',
      `${head}\n${row(0, 'SPX', 1)}5                   [[0 1 ]]`,
    );
    const types = ['SPX', 'DPX', 'CPX'].map((type, index) => `${row(index, type, 8)}NPS1 NPS4`);
    this.#write(
      address,
      'accelerator_partition_profile_config',
      `resource_profiles:\n0                   XCC                 8\nprofiles:\n${types.join('\n')}`,
    );
  }

  #share(address: string, { kind, total, vram }: Card, file: string, text: string): void {
    const name = basename(file);
    if (kind === 'gim') {
      this.#pending = { file: name, text: `${address} ${text}`, reads: this.resetReads };
      return;
    }
    if (name === 'sched_priority') {
      if (text !== 'low' && text !== 'normal') throw new HardwareError('EINVAL', file);
      const shown = text === 'low' ? '[low] normal' : 'low [normal]';
      for (let number = 1; number <= total; number += 1) {
        this.#write(address, `sriov_admin/vf${number}/profile/sched_priority`, shown);
      }
      return;
    }
    if (!/^\d+$/.test(text)) throw new HardwareError('EINVAL', file);
    const isMemory = name === 'vram_quota' || name === 'lmem_quota';
    const rounded = isMemory ? Math.ceil(Number(text) / page) * page : Number(text);
    if (isMemory && this.#given(address, name, file) + rounded > vram) {
      throw new HardwareError('EIO', file);
    }
    if (name.endsWith('_quota') && kind === 'i915') {
      this.#write(address, 'drm/card1/prelim_iov/pf/auto_provisioning', '0');
    }
    this.#write(address, file, String(rounded));
  }

  /** What the other functions have of the memory. */
  #given(address: string, name: string, but: string): number {
    const folder = name === 'vram_quota' ? 'sriov_admin' : 'drm/card1/prelim_iov';
    const root = join(this.tree.root, this.tree.pathOf(address), folder);
    const others = readdirSync(root).filter((each) => /^vf\d+$/.test(each));
    const below = name === 'vram_quota' ? 'profile' : 'gt';
    return others
      .map((each) => `${folder}/${each}/${below}/${name}`)
      .filter((each) => each !== but)
      .reduce((sum, each) => sum + Number(this.text(address, each)), 0);
  }

  #count(address: string, card: Card, asked: number): void {
    const { kind, pci, total, vram } = card;
    const path = `bus/pci/devices/${address}/sriov_numvfs`;
    // A driver without sriov_configure.
    if (kind === 'gim') throw new HardwareError('ENOENT', path);
    const share = String(Math.floor(vram / Math.max(asked, 1) / page) * page);
    const quota = (number: number) =>
      kind === 'xe'
        ? `sriov_admin/vf${number}/profile/vram_quota`
        : `drm/card1/prelim_iov/vf${number}/gt/lmem_quota`;
    const isGiven = this.#given(address, basename(quota(1)), '') > 0;
    if (asked > 0 && kind === 'i915' && isGiven) {
      const first = `drm/card1/prelim_iov/vf1/gt`;
      const isWhole = ['ggtt', 'contexts', 'doorbells'].every(
        (each) => this.text(address, `${first}/${each}_quota`) !== '0',
      );
      if (!isWhole) throw new HardwareError('EIO', path);
    }
    pci.effect(path, String(asked));
    for (let number = 1; number <= total; number += 1) {
      if (asked === 0 && kind === 'xe') this.#clearXe(address, number);
      if (number > asked) continue;
      if (!isGiven) this.#write(address, quota(number), share);
      if (this.setsScheduling) {
        this.#write(address, `sriov_admin/vf${number}/profile/exec_quantum_ms`, '32');
      }
    }
  }

  #applyPartition({ file, text }: { readonly file: string; readonly text: string }): void {
    this.#pending = undefined;
    const [address = '', value = ''] = text.split(' ');
    if (file === 'memory_partition_mode') {
      this.#write(address, file, `memory_partition_mode: ${value}\nnuma_count: 4`);
    } else {
      const type = ['SPX', 'DPX', 'CPX'][Number(value)] ?? 'SPX';
      this.#write(address, file, `profile_index\n${value}    ${type}    8    5    [[0 ]]`);
    }
  }

  /** The card falls off the bus. */
  remove(address: string): void {
    const { pci } = this.#at(address);
    for (const each of pci.virtualOf(address)) this.tree.removeFunction(each);
    rmSync(join(this.tree.root, `bus/pci/devices/${address}`));
  }
}
