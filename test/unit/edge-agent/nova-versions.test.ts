// Which releases of nova-compute a host has, from processes and packages of an own root.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { openProc } from '#agent/guards/proc.ts';
import { readNovaVersions } from '#agent/process/nova-versions.ts';
import { directoryPerTest } from '#test/support/vitest/shared.ts';

const root = directoryPerTest();
const debian = 'usr/lib/python3/dist-packages/nova-26.2.2.egg-info';
const venv = 'var/lib/kolla/venv/lib/python3.12/site-packages/nova-34.0.0.dist-info';
const fedora = 'usr/lib/python3.9/site-packages/nova-34.1.0-py3.9.egg-info';

beforeEach(() => write('1/cmdline', '/sbin/init'));

function write(path: string, text = ''): void {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** A process, with a package in its root. */
function runs(pid: number, path: string, metadata?: string): void {
  const options = path.startsWith('/usr') ? [] : ['-s'];
  const python = path.replace('nova-compute', 'python3');
  write(`${pid}/cmdline`, [python, ...options, path, '--config-file', '/etc/nova.conf'].join('\0'));
  if (metadata) write(`${pid}/root/${metadata}/METADATA`);
}

const found = () => readNovaVersions(openProc(root));

it('are those that run, in a container, too', () => {
  runs(7, '/var/lib/kolla/venv/bin/nova-compute', venv);
  write(`self/root/${debian}/PKG-INFO`);
  expect(found()).toEqual(['34.0.0']);
});

it('are two while one replaces the other', () => {
  runs(7, '/var/lib/kolla/venv/bin/nova-compute', venv);
  runs(8, '/usr/bin/nova-compute', fedora);
  runs(9, '/usr/bin/nova-compute', debian);
  expect(found()).toEqual(['26.2.2', '34.0.0', '34.1.0']);
});

it('are what the host has installed while none runs', () => {
  write(`self/root/${debian}/PKG-INFO`);
  write('self/root/usr/lib/python3/dist-packages/nova_powervm-9.0.0.egg-info/PKG-INFO');
  expect(found()).toEqual(['26.2.2']);
});

it.each([
  ['nothing is installed', () => {}],
  ['one runs that has no metadata', () => runs(7, '/opt/stack/bin/nova-compute')],
  [
    'it is unreadable for one of two',
    () => {
      runs(7, '/var/lib/kolla/venv/bin/nova-compute', venv);
      runs(8, '/usr/bin/nova-compute');
    },
  ],
  [
    'another program has the name as an argument',
    () => {
      write('7/cmdline', ['/usr/bin/less', 'nova-compute'].join('\0'));
      write(`7/root/${debian}/PKG-INFO`);
    },
  ],
])('are unknown where %s', (_, arrange) => {
  arrange();
  expect(found()).toEqual([]);
});
