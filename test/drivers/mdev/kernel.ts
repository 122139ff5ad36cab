// The kernel's side of mdevs over a sysfs tree: writes to `create` and `remove` have the effects
// and the errors of drivers/vfio/mdev, with a capacity that the types of a parent share.

import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { HardwareError } from '#agent/hardware/errno.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import type { SysfsTree } from '#test/support/hosts/sysfs.ts';

interface Parent {
  readonly capacity: number;
  /** Parts of the capacity that one mdev of the type takes. */
  readonly types: Readonly<Record<string, number>>;
}

const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export class MdevKernel {
  readonly tree: SysfsTree;
  /** Thrown by the next write to a path that ends like the key. */
  readonly faults = new Map<string, string>();
  readonly writes: string[] = [];
  /** What happens between the removal of an mdev and the end of the write. */
  afterRemove: () => Promise<void> = async () => {};
  readonly #parents = new Map<string, Parent>();
  readonly #types = new Map<string, string>();

  constructor(tree: SysfsTree) {
    this.tree = tree;
  }

  addParent(address: string, parent: Parent): this {
    this.#parents.set(address, parent);
    const path = this.tree.pathOf(address);
    for (const type of Object.keys(parent.types)) {
      this.tree.write(`${path}/mdev_supported_types/${type}/create`, '');
    }
    this.#link(`class/mdev_bus/${address}`, path);
    this.#count(address);
    return this;
  }

  /** Makes an mdev as another program does. */
  make(address: string, type: string, uuid: string): void {
    const parent = this.#parents.get(address);
    const size = parent?.types[type];
    if (!parent || size === undefined) throw error('ENODEV');
    if (!uuidForm.test(uuid)) throw error('EINVAL');
    const lower = uuid.toLowerCase();
    if (this.uuids().includes(lower)) throw error('EEXIST');
    if (this.#free(address) < size) throw error('ENOSPC');
    const path = `${this.tree.pathOf(address)}/${lower}`;
    this.#types.set(lower, type);
    this.tree.write(`${path}/remove`, '');
    this.#link(`${path}/mdev_type`, `${this.tree.pathOf(address)}/mdev_supported_types/${type}`);
    this.#link(`bus/mdev/devices/${lower}`, path);
    this.#count(address);
  }

  /** A boot: all mdevs are gone. */
  reboot(): void {
    for (const uuid of this.uuids()) this.#remove(uuid);
  }

  uuids(): string[] {
    return this.#mdevs().map(({ uuid }) => uuid);
  }

  /** Reads and writes like the agent's, with the kernel's effects. */
  hardware(): Pick<Hardware, 'readText' | 'writeText'> {
    return {
      readText: async (_device, path) => readFileSync(join(this.tree.root, path), 'utf8').trimEnd(),
      writeText: async (_device, path, text) => {
        this.writes.push(`${basename(dirname(path))}/${basename(path)} ${text}`);
        for (const [end, code] of this.faults) {
          if (!path.endsWith(end)) continue;
          this.faults.delete(end);
          throw error(code);
        }
        if (path.endsWith('/create')) {
          const [, address = '', type = ''] = /mdev_bus\/(.*?)\/.*\/(.*)\/create$/.exec(path) ?? [];
          this.make(address, type, text);
        } else if (path.endsWith('/remove')) {
          this.#remove(basename(dirname(path)));
          await this.afterRemove();
        } else {
          writeFileSync(join(this.tree.root, path), text);
        }
      },
    };
  }

  #remove(uuid: string): void {
    const found = this.#mdevs().find((each) => each.uuid === uuid);
    if (!found) throw error('ENODEV');
    rmSync(join(this.tree.root, `bus/mdev/devices/${uuid}`));
    rmSync(join(this.tree.root, this.tree.pathOf(found.parent), uuid), { recursive: true });
    this.#count(found.parent);
  }

  #mdevs(): { uuid: string; parent: string; type: string }[] {
    return [...this.#parents].flatMap(([parent]) =>
      readdirSync(join(this.tree.root, this.tree.pathOf(parent)))
        .filter((name) => uuidForm.test(name))
        .map((uuid) => ({ uuid, parent, type: this.#types.get(uuid) ?? '' })),
    );
  }

  #free(address: string): number {
    const { capacity = 0, types = {} } = this.#parents.get(address) ?? {};
    return this.#mdevs()
      .filter(({ parent }) => parent === address)
      .reduce((left, { type }) => left - (types[type] ?? 0), capacity);
  }

  #count(address: string): void {
    const path = join(this.tree.root, this.tree.pathOf(address), 'mdev_supported_types');
    for (const [type, size] of Object.entries(this.#parents.get(address)?.types ?? {})) {
      writeFileSync(join(path, type, 'name'), `${type}\n`);
      const count = Math.floor(this.#free(address) / size);
      writeFileSync(join(path, type, 'available_instances'), `${count}\n`);
    }
  }

  #link(from: string, to: string): void {
    mkdirSync(join(this.tree.root, dirname(from)), { recursive: true });
    symlinkSync(relative(dirname(from), to), join(this.tree.root, from));
  }
}

function error(code: string): HardwareError {
  return new HardwareError(code, 'the kernel refuses');
}
