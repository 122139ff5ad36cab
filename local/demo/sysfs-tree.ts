// Builds sysfs trees in the kernel's form: entries of bus/pci/devices are links, attributes end in
// a newline, and an attribute without a value is missing instead of empty.

import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';

export interface PciFunctionFields {
  readonly address: string;
  /** Four hexadecimal digits, like all ids in this file. */
  readonly vendor?: string;
  readonly product?: string;
  readonly subsystem?: string;
  /** Six hexadecimal digits. */
  readonly classCode?: string;
  /** `undefined` for a function without a driver. */
  readonly driver?: string | undefined;
  /** `undefined` if the IOMMU is off; by default a new group. */
  readonly iommuGroup?: number | undefined;
  readonly numaNode?: number;
  readonly revision?: string;
  readonly powerState?: string;
  /** First bytes of configuration space; by default the ids. */
  readonly config?: Buffer;
  readonly sriovTotalvfs?: number;
  /** `undefined` for a function that the kernel cannot reset. */
  readonly resetMethod?: string | undefined;
  readonly physicalFunction?: string;
  /** The function above it in the tree of buses, such as a port of a switch. */
  readonly below?: string;
}

export class SysfsTree {
  readonly root: string;
  readonly #paths = new Map<string, string>();
  #groups = 0;

  constructor(root: string = mkdtempSync(join(tmpdir(), 'sysfs-'))) {
    this.root = root;
    mkdirSync(join(root, 'bus/pci/devices'), { recursive: true });
  }

  addFunction(overrides: PciFunctionFields): this {
    const { address } = overrides;
    if (overrides.below !== undefined) {
      this.#paths.set(address, `${this.#pathOf(overrides.below)}/${address}`);
    }
    const path = this.#pathOf(address);
    const { vendor = '10de', product = '2235', subsystem = '10de:145a' } = overrides;
    const { classCode = '030200', numaNode = 0, revision = 'a1' } = overrides;
    const driver = 'driver' in overrides ? overrides.driver : 'vfio-pci';
    const group = 'iommuGroup' in overrides ? overrides.iommuGroup : ++this.#groups;
    const [subsystemVendor, subsystemDevice] = subsystem.split(':');
    mkdirSync(join(this.root, path), { recursive: true });
    this.#link(`bus/pci/devices/${address}`, path);
    this.write(`${path}/vendor`, `0x${vendor}\n`);
    this.write(`${path}/device`, `0x${product}\n`);
    this.write(`${path}/subsystem_vendor`, `0x${subsystemVendor}\n`);
    this.write(`${path}/subsystem_device`, `0x${subsystemDevice}\n`);
    this.write(`${path}/class`, `0x${classCode}\n`);
    this.write(`${path}/revision`, `0x${revision}\n`);
    this.write(`${path}/numa_node`, `${numaNode}\n`);
    this.write(`${path}/power_state`, `${overrides.powerState ?? 'D0'}\n`);
    this.write(`${path}/driver_override`, '(null)\n');
    this.write(
      `${path}/uevent`,
      (driver === undefined ? '' : `DRIVER=${driver}\n`) +
        // The kernel formats with %04X: no leading zeros beyond four digits.
        `PCI_CLASS=${classCode.replace(/^0{1,2}/, '').toUpperCase()}\n` +
        `PCI_ID=${vendor.toUpperCase()}:${product.toUpperCase()}\n` +
        `PCI_SUBSYS_ID=${subsystem.toUpperCase()}\n` +
        `PCI_SLOT_NAME=${address}\n` +
        `MODALIAS=pci:v0000${vendor.toUpperCase()}d0000${product.toUpperCase()}\n`,
    );
    // The configuration space of a virtual function has 0xffff for both ids.
    const ids = overrides.physicalFunction ? 'ffffffff' : vendor + product;
    const config = Buffer.from(ids, 'hex').swap16();
    this.write(`${path}/config`, overrides.config ?? Buffer.concat([config, Buffer.alloc(252)]));
    const resetMethod = 'resetMethod' in overrides ? overrides.resetMethod : 'flr';
    if (resetMethod !== undefined) {
      this.write(`${path}/reset`, '').write(`${path}/reset_method`, `${resetMethod}\n`);
    }
    if (driver !== undefined) {
      mkdirSync(join(this.root, `bus/pci/drivers/${driver}`), { recursive: true });
      this.#link(`${path}/driver`, `bus/pci/drivers/${driver}`);
    }
    if (group !== undefined) {
      const members = `kernel/iommu_groups/${group}/devices`;
      mkdirSync(join(this.root, members), { recursive: true });
      this.#link(`${path}/iommu_group`, `kernel/iommu_groups/${group}`);
      this.#link(`${members}/${address}`, path);
    }
    if (overrides.sriovTotalvfs !== undefined) {
      this.write(`${path}/sriov_totalvfs`, `${overrides.sriovTotalvfs}\n`);
      this.write(`${path}/sriov_numvfs`, '0\n');
    }
    if (overrides.physicalFunction) this.#attach(path, overrides.physicalFunction);
    return this;
  }

  /** Adds virtual functions 1, 2, ... of a physical one, eight functions to a device number. */
  addVirtualFunctions(
    physical: string,
    count: number,
    overrides: Partial<PciFunctionFields> = {},
  ): this {
    const bus = physical.slice(0, physical.lastIndexOf(':'));
    for (let number = 1; number <= count; number += 1) {
      const device = Math.floor(number / 8)
        .toString(16)
        .padStart(2, '0');
      const address = `${bus}:${device}.${number % 8}`;
      this.addFunction({ ...overrides, address, physicalFunction: physical });
    }
    return this;
  }

  removeFunction(address: string): this {
    rmSync(join(this.root, `bus/pci/devices/${address}`));
    rmSync(join(this.root, this.#pathOf(address)), { recursive: true });
    return this;
  }

  /** The directory of a function, relative to the root. */
  pathOf(address: string): string {
    return this.#pathOf(address);
  }

  write(path: string, content: string | Buffer): this {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), content);
    return this;
  }

  /** Both below the root; an existing link is replaced. */
  link(from: string, to: string): this {
    mkdirSync(dirname(join(this.root, from)), { recursive: true });
    rmSync(join(this.root, from), { force: true });
    this.#link(from, to);
    return this;
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }

  #pathOf(address: string): string {
    const bus = address.slice(0, address.lastIndexOf(':'));
    const parent = address.includes(':') ? `pci${bus}` : `virtual/${address}`;
    const path = this.#paths.get(address) ?? `devices/${parent}/${address}`;
    this.#paths.set(address, path);
    return path;
  }

  #attach(path: string, physical: string): void {
    const names = readdirSync(join(this.root, this.#pathOf(physical)));
    const number = names.filter((name) => name.startsWith('virtfn')).length;
    this.#link(`${path}/physfn`, this.#pathOf(physical));
    this.#link(`${this.#pathOf(physical)}/virtfn${number}`, path);
    this.write(`${this.#pathOf(physical)}/sriov_numvfs`, `${number + 1}\n`);
  }

  #link(from: string, to: string): void {
    symlinkSync(relative(dirname(from), to), join(this.root, from));
  }
}
