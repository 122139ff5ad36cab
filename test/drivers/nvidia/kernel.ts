// The kernel's side of NVIDIA's vendor VFIO over a sysfs tree: the table of types that fit, and
// what a write of a type does. Its types share the card's memory, and all of a card are of the
// type of the first.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HardwareError } from '#agent/hardware/errno.ts';
import type { Answer, Hardware } from '#agent/hardware/port.ts';
import type { SysfsTree } from '#test/support/hosts/sysfs.ts';

interface VendorCard {
  readonly memory: number;
  /** A type's name and the memory that it takes, by its number. */
  readonly types: Readonly<Record<string, readonly [name: string, memory: number]>>;
}

export class VendorVgpuKernel {
  /** Functions that a guest has open. */
  readonly open = new Set<string>();
  readonly writes: string[] = [];
  /** The next write of a type ends with the code; `ignored`: with success, and no effect. */
  fault: string | undefined;
  /** Rows with the name before the number, and no header. */
  isNameFirst = false;
  readonly #tree: SysfsTree;
  readonly #cards = new Map<string, VendorCard>();
  readonly #functions = new Map<string, { readonly card: string; type: string }>();

  constructor(tree: SysfsTree) {
    this.#tree = tree;
  }

  /** @param count of virtual functions that the card has once sriov-manage has made them */
  addCard(address: string, card: VendorCard, count: number): this {
    this.#tree.addFunction({ address, product: '26b9', driver: 'nvidia', sriovTotalvfs: count });
    this.#cards.set(address, card);
    return this;
  }

  /** What `sriov-manage -e` does. */
  enable(card: string): void {
    const total = Number(this.#text(`${this.#tree.pathOf(card)}/sriov_totalvfs`));
    this.#tree.addVirtualFunctions(card, total, { product: '26b9', driver: 'nvidia' });
    const bus = card.slice(0, card.lastIndexOf(':'));
    for (let number = 1; number <= total; number += 1) {
      const device = Math.floor(number / 8)
        .toString(16)
        .padStart(2, '0');
      this.#functions.set(`${bus}:${device}.${number % 8}`, { card, type: '0' });
    }
    this.#show();
  }

  /** Sets a type as another program does. @throws HardwareError */
  set(address: string, type: string): void {
    const fn = this.#functions.get(address);
    if (!fn || !/^\d+$/.test(type)) throw new HardwareError('EINVAL', address);
    if (this.open.has(address)) throw new HardwareError('EBUSY', address);
    if (type !== '0' && !this.#fits(address, type)) throw new HardwareError('EINVAL', address);
    fn.type = type;
    this.#show();
  }

  types(): Record<string, string> {
    const set = [...this.#functions].filter(([, { type }]) => type !== '0');
    return Object.fromEntries(set.map(([address, { type }]) => [address, type]).sort());
  }

  /** A boot clears the types; the host's own unit has made the virtual functions again. */
  boot(): void {
    for (const fn of this.#functions.values()) fn.type = '0';
    this.#show();
  }

  hardware(): Pick<Hardware, 'readText' | 'writeText' | 'exec'> {
    return {
      readText: async (_device, path) => this.#text(path).trimEnd(),
      writeText: async (_device, path, text) => {
        const [, address = ''] = /devices\/([^/]+)\/nvidia\/current_vgpu_type$/.exec(path) ?? [];
        this.writes.push(`${address} ${text}`);
        const { fault } = this;
        this.fault = undefined;
        if (fault === 'ignored') return;
        if (fault) throw new HardwareError(fault, path);
        this.set(address, text);
      },
      exec: async (_device, tool, args) => this.#exec(tool, args),
    };
  }

  #exec(tool: string, [verb, card = '']: readonly string[]): Answer {
    this.writes.push(`${tool} ${verb} ${card}`);
    const isKnown = tool.endsWith('/sriov-manage') && verb === '-e' && this.#cards.has(card);
    if (isKnown && this.fault === undefined) this.enable(card);
    return isKnown && this.fault === undefined
      ? { exitCode: 0, stdout: 'Enabling VFs', stderr: '' }
      : { exitCode: 1, stdout: '', stderr: `Cannot obtain unbindLock for ${card}` };
  }

  #fits(address: string, number: string): boolean {
    const fn = this.#functions.get(address);
    const card = fn && this.#cards.get(fn.card);
    const [, wanted] = card?.types[number] ?? [];
    if (!fn || !card || wanted === undefined) return false;
    const others = [...this.#functions].filter(
      ([other, { card: of, type }]) => of === fn.card && other !== address && type !== '0',
    );
    const used = others.reduce((sum, [, { type }]) => sum + (card.types[type]?.[1] ?? 0), 0);
    return others.every(([, { type }]) => type === number) && used + wanted <= card.memory;
  }

  #show(): void {
    for (const [address, { card, type }] of this.#functions) {
      const path = `${this.#tree.pathOf(address)}/nvidia`;
      const types = Object.entries(this.#cards.get(card)?.types ?? {});
      const fitting = type === '0' ? types.filter(([number]) => this.#fits(address, number)) : [];
      const rows = fitting.map(([number, [name]]) =>
        this.isNameFirst ? `${name}   ${number}\n` : `${number.padEnd(5)} : ${name}\n`,
      );
      const header = this.isNameFirst ? '' : 'ID    : vGPU Name\n';
      this.#tree.write(`${path}/creatable_vgpu_types`, header + rows.join(''));
      this.#tree.write(`${path}/current_vgpu_type`, `${type}\n`);
    }
  }

  #text(path: string): string {
    try {
      return readFileSync(join(this.#tree.root, path), 'utf8');
    } catch (error) {
      throw new HardwareError((error as NodeJS.ErrnoException).code ?? 'EIO', path);
    }
  }
}
