// Which devices Nova gives out by itself, from nova.conf files and a sysfs tree.

import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { createNovaDevices } from '#agent/process/nova-devices.ts';
import { openSysfs } from '#agent/sysfs/root.ts';
import { aReportedDevice } from '#test/support/hosts/agent.ts';
import { SysfsTree } from '#test/support/hosts/sysfs.ts';
import { directoryPerTest } from '#test/support/vitest/shared.ts';

const root = directoryPerTest();
const card = '0000:3b:00.0';
const fn = '0000:3b:00.4';
let tree: SysfsTree;
let file: string;

beforeEach(() => {
  file = join(root, 'nova.conf');
  tree = new SysfsTree(join(root, 'sys'));
  tree.addFunction({ address: card, vendor: '10de', product: '2330' });
  tree.addFunction({ address: fn, vendor: '10de', product: '2331', physicalFunction: card });
});

/** The card with its virtual function as the only handle. */
const info = { domain: '0000', bus: '3b', device: '00', function: '4' };
const device = (type: 'PCI' | 'TEST_PCI' = 'PCI') =>
  aReportedDevice({
    address: card,
    offers: { resource_class: 'PGPU', traits: [], attach_handles: [{ type, info }] },
  });

function write(...specs: readonly object[]): void {
  const lines = specs.map((each) => `device_spec = ${JSON.stringify(each)}`);
  writeFileSync(file, ['[pci]', ...lines, ''].join('\n'));
}

const open = (paths = [file], isNamed = true) =>
  createNovaDevices({ paths, isNamed }, openSysfs(join(root, 'sys')));
const ownerOf = () => open()().ownerOf(device());

describe('[pci] device_spec claims a device', () => {
  it.each([
    ['by the ids of its card', { vendor_id: '10de', product_id: '2330' }],
    ['by the ids of a function that it offers', { vendor_id: '10DE', product_id: '2331' }],
    ['by the address of its card', { address: card }],
    [
      'by the address of its card, and the ids of its functions',
      { address: card, product_id: '2331' },
    ],
    ['by the address of a function', { address: fn }],
    ['by an address with a wildcard', { address: '*:3b:*.*' }],
    [
      'by a regular expression',
      { address: { domain: '.*', bus: '3[a-c]', slot: '00', function: '[4-7]' } },
    ],
    ['by any device of a vendor', { vendor_id: '10de' }],
    ['by an entry that Neutron uses', { address: fn, physical_network: 'net1' }],
  ])('%s', (_, spec) => {
    write({ vendor_id: '8086' }, spec);
    expect(ownerOf()).toEqual({
      name: 'Nova',
      by: expect.stringMatching(
        /^\[pci\] device_spec of \/.*nova\.conf, spec-2, for 0000:3b:00\.[04]$/,
      ),
    });
  });

  it.each([
    ['by other ids', { vendor_id: '10de', product_id: '2329' }],
    ['by the address of another card', { address: '0000:3c:00.0' }],
    ['by the address of a function that it does not offer', { address: '0000:3b:00.5' }],
    ['by its address and other ids', { address: card, vendor_id: '8086' }],
    ['by a regular expression for other functions', { address: { function: '[5-7]' } }],
    ['by an invalid regular expression', { address: { bus: '(' } }],
    ['by a network interface that it does not have', { devname: 'ens1' }],
  ])('not %s', (_, spec) => {
    write(spec);
    expect(ownerOf()).toBeUndefined();
  });

  it('by its network interface', () => {
    mkdirSync(join(root, 'sys/bus/pci/devices', card, 'net/ens1'), { recursive: true });
    write({ devname: 'ens1' });
    expect(ownerOf()?.name).toBe('Nova');
  });

  it('not by the address of a handle for tests', () => {
    write({ address: fn });
    expect(open()().ownerOf(device('TEST_PCI'))).toBeUndefined();
  });

  it('in the file of a folder, and until it is taken out', () => {
    const folder = join(root, 'nova.conf.d');
    mkdirSync(folder);
    file = join(folder, '10-pci.conf');
    write({ address: card });
    writeFileSync(join(folder, 'notes.txt'), 'not settings');
    const read = open([folder]);
    expect(read().ownerOf(device())?.by).toContain(file);
    write();
    expect(read()).toEqual({ ownerOf: expect.any(Function) });
    expect(read().ownerOf(device())).toBeUndefined();
  });
});

describe('settings that cannot be read', () => {
  it.each<[string, () => void, RegExp]>([
    ['are longer than a mebibyte', () => writeFileSync(file, '#'.repeat(2 ** 20 + 1)), /longer/],
    ['may be written by others', () => chmodSync(file, 0o666), /must not be writable/],
    ['are not settings', () => writeFileSync(file, 'password = secret'), /line 1/],
    ['have an invalid entry', () => write({ adress: card }), /spec-1: unknown key adress/],
    ['are a device', () => (file = '/dev/zero'), /not a regular file/],
  ])('%s: says why, and keeps those of before', (_, change, reason) => {
    const paths = [file];
    write({ address: card });
    const read = createNovaDevices({ paths, isNamed: true }, openSysfs(join(root, 'sys')));
    expect(read().fault).toBeUndefined();
    change();
    paths[0] = file;
    const { fault, ownerOf: after } = read();
    expect(fault).toMatch(reason);
    expect(fault).not.toContain('secret');
    expect(after(device())?.name).toBe('Nova');
  });

  it('are a fault where the settings of the agent name them', () => {
    expect(open([file])().fault).toContain(file);
    expect(open([file], false)().fault).toBeUndefined();
  });
});
