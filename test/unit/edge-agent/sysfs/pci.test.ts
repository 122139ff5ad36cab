import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  type PciFunction,
  pciSignature,
  readPciDetails,
  readPciFunctions,
} from '#agent/sysfs/pci.ts';
import { openSysfs, type Sysfs } from '#agent/sysfs/root.ts';
import { aSysfsTree } from '#test/support/hosts/sysfs.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const address = '0000:3b:00.0';
const tree = perTest(aSysfsTree);
let sysfs: Sysfs;
let skipped: [address: string, reason: string][];

beforeEach(() => {
  sysfs = openSysfs(tree.root);
  skipped = [];
});

function read(from: Sysfs = sysfs): PciFunction[] {
  return readPciFunctions(from, (...skip) => skipped.push(skip));
}

function only(): PciFunction {
  const [first, ...rest] = read();
  if (!first || rest.length > 0) throw new Error('not one function');
  return first;
}

describe('reading PCI functions', () => {
  it('has what the kernel knows', () => {
    tree.addFunction({
      address,
      vendor: '10de',
      product: '26b9',
      subsystem: '10de:1851',
      classCode: '030200',
      driver: 'nvidia',
      iommuGroup: 71,
    });
    expect(only()).toMatchObject({
      address,
      vendorId: '10de',
      productId: '26b9',
      subsystemId: '10de:1851',
      classCode: '030200',
      boundDriver: 'nvidia',
      iommuGroup: '71',
    });
  });

  it('names the physical function of a virtual one', () => {
    tree.addFunction({ address, sriovTotalvfs: 8 }).addVirtualFunctions(address, 2);
    expect(read().map(({ physicalFunction }) => physicalFunction)).toEqual([
      undefined,
      address,
      address,
    ]);
  });

  it('has no driver and no group if the function has none', () => {
    tree.addFunction({ address, driver: undefined, iommuGroup: undefined });
    expect(only()).not.toHaveProperty('boundDriver');
    expect(only()).not.toHaveProperty('iommuGroup');
  });

  it('reads class codes with leading zeros', () => {
    tree.addFunction({ address, classCode: '010802' });
    expect(only().classCode).toBe('010802');
  });

  it('takes domains of more than four digits', () => {
    tree.addFunction({ address: '10000:e1:00.0' });
    expect(only().address).toBe('10000:e1:00.0');
  });

  it('finds nothing without a PCI bus', () => {
    rmSync(join(tree.root, 'bus/pci'), { recursive: true });
    expect(read()).toEqual([]);
    expect(pciSignature(sysfs)).toBe('');
  });

  it('skips a name that is not a PCI address', () => {
    mkdirSync(join(tree.root, 'bus/pci/devices/not-an-address'));
    expect(read()).toEqual([]);
  });

  it('skips a function that disappears between listing and reading', () => {
    tree.addFunction({ address }).addFunction({ address: '0000:5e:00.0' });
    const vanishing: Sysfs = {
      ...sysfs,
      list: (directory) => {
        const names = sysfs.list(directory);
        tree.removeFunction('0000:5e:00.0');
        return names;
      },
    };
    expect(read(vanishing).map((found) => found.address)).toEqual([address]);
    expect(skipped).toEqual([]);
  });

  it('skips a dangling link', () => {
    symlinkSync('../../../devices/gone', join(tree.root, 'bus/pci/devices/0000:00:01.0'));
    expect(read()).toEqual([]);
  });

  it('skips one function whose read fails, with the reason, and reads the others', () => {
    tree.addFunction({ address }).addFunction({ address: '0000:5e:00.0' });
    const failing: Sysfs = {
      ...sysfs,
      readAttribute: (path) => {
        if (path.includes('5e')) throw Object.assign(new Error('i/o error'), { code: 'EIO' });
        return sysfs.readAttribute(path);
      },
    };
    expect(read(failing).map((found) => found.address)).toEqual([address]);
    expect(skipped).toEqual([['0000:5e:00.0', 'cannot be read (EIO)']]);
  });

  it('skips a function whose vendor reads as all ones', () => {
    tree.addFunction({ address, vendor: 'ffff', product: 'ffff' });
    expect(read()).toEqual([]);
    expect(skipped).toEqual([[address, 'fell off the bus']]);
  });
});

describe('details', () => {
  it('have no NUMA node for a device without one', () => {
    tree.addFunction({ address, numaNode: -1, revision: '0b' });
    expect(readPciDetails(sysfs, only())).toEqual({ numaNode: -1, revision: '0x0b' });
  });
});

describe('the signature', () => {
  it('changes when virtual functions come and go, and only then', () => {
    tree.addFunction({ address, sriovTotalvfs: 8 });
    const before = pciSignature(sysfs);
    expect(pciSignature(sysfs)).toBe(before);
    tree.addVirtualFunctions(address, 1);
    expect(pciSignature(sysfs)).not.toBe(before);
    tree.removeFunction('0000:3b:00.1');
    expect(pciSignature(sysfs)).toBe(before);
  });
});
