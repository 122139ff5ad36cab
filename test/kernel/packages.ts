// What the suite needs of the machine: Debian 12 on x86-64, whose kernel it boots, and some of its
// packages.

import { existsSync, readFileSync } from 'node:fs';
import { CannotRun } from '#test/support/suites/cannot-run.ts';
import { ensurePackages } from '#test/support/suites/debian.ts';

const packages = [
  'qemu-system-x86',
  'busybox-static',
  'cpio',
  'kmod',
  'gcc',
  'make',
  'libc6-dev',
  'libelf1',
  'xz-utils',
  'e2fsprogs',
  'nvme-cli',
  'iproute2',
];

/** Installs what is missing. @throws CannotRun */
export function ensureKernelPackages(): void {
  if (process.arch !== 'x64') throw new CannotRun('it needs a machine with x86-64');
  // Modules are built for one version of the kernel's own interfaces, that of Debian 12.
  if (!isDebian12()) throw new CannotRun('it needs Debian 12, whose kernel it boots');
  ensurePackages(packages);
}

function isDebian12(): boolean {
  if (!existsSync('/usr/bin/apt-get') || !existsSync('/etc/os-release')) return false;
  const release = readFileSync('/etc/os-release', 'utf8');
  return /^ID=debian$/m.test(release) && /^VERSION_ID="12"$/m.test(release);
}
