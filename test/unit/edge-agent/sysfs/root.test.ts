import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { openSysfs, type Sysfs, SysfsPathRefused } from '#agent/sysfs/root.ts';
import { aSysfsTree } from '#test/support/hosts/sysfs.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const tree = perTest(aSysfsTree);
let sysfs: Sysfs;

beforeEach(() => {
  sysfs = openSysfs(tree.root);
});

describe('paths of sysfs', () => {
  it.each(['../etc/passwd', 'bus/../../etc', '/etc/passwd', 'bus/pci/..', 'bus\0/pci'])(
    'are refused if they lead out: %j',
    (path) => {
      expect(() => sysfs.readAttribute(path)).toThrow(SysfsPathRefused);
      expect(() => sysfs.list(path)).toThrow(SysfsPathRefused);
      expect(() => sysfs.linkName(path)).toThrow(SysfsPathRefused);
      expect(() => sysfs.resolve(path)).toThrow(SysfsPathRefused);
    },
  );

  it('may contain dots', () => {
    tree.write('bus/pci..x/..y', 'yes\n');
    expect(sysfs.readAttribute('bus/pci..x/..y')).toBe('yes');
  });

  it('are refused if a link leads out', () => {
    symlinkSync('/etc', join(tree.root, 'bus/pci/devices/0000:00:01.0'));
    expect(() => sysfs.resolve('bus/pci/devices/0000:00:01.0')).toThrow(SysfsPathRefused);
  });

  it('are followed where links stay inside', () => {
    tree.addFunction({ address: '0000:3b:00.0' });
    const resolved = sysfs.resolve('bus/pci/devices/0000:3b:00.0');
    expect(resolved.endsWith('/devices/pci0000:3b/0000:3b:00.0')).toBe(true);
  });
});

describe('a read attribute', () => {
  it('has no newline at its end', () => {
    tree.write('a/numa_node', '-1\n');
    expect(sysfs.readAttribute('a/numa_node')).toBe('-1');
  });

  it('is undefined if the file does not exist', () => {
    expect(sysfs.readAttribute('a/vendor')).toBeUndefined();
    expect(sysfs.list('class/fpga')).toBeUndefined();
    expect(sysfs.linkName('a/driver')).toBeUndefined();
  });

  it('is never read through a link in its place', () => {
    mkdirSync(join(tree.root, 'a'));
    writeFileSync(join(tree.root, 'secret'), 'secret');
    symlinkSync('../secret', join(tree.root, 'a/vendor'));
    expect(() => sysfs.readAttribute('a/vendor')).toThrow('ELOOP');
  });
});
