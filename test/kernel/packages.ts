// What the suite needs of the machine: Debian 12 on x86-64, whose kernel it boots, and some of its
// packages.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

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

/** The suite cannot run on this machine; the message is one line that says why. */
export class CannotRun extends Error {
  override readonly name = 'CannotRun';
}

/** Prints what is left out, and why. @throws an error that is no {@link CannotRun} */
export function skip(what: string, error: unknown): void {
  if (!(error instanceof CannotRun)) throw error;
  console.log(`SKIPPED: ${what} cannot run on this machine: ${error.message.replace(/\.$/, '')}.`);
}

/** Installs what is missing. @throws CannotRun */
export function ensurePackages(): void {
  if (process.arch !== 'x64') throw new CannotRun('it needs a machine with x86-64');
  // Modules are built for one version of the kernel's own interfaces, that of Debian 12.
  if (!isDebian12()) throw new CannotRun('it needs Debian 12, whose kernel it boots');
  const missing = packages.filter((name) => !isInstalled(name));
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0) {
    throw new CannotRun(`it needs root to install packages: ${missing.join(' ')}`);
  }
  console.log(`Installing ${missing.join(' ')} ...`);
  apt('update');
  apt('install', '--yes', '--no-install-recommends', ...missing);
}

function isDebian12(): boolean {
  if (!existsSync('/usr/bin/apt-get') || !existsSync('/etc/os-release')) return false;
  const release = readFileSync('/etc/os-release', 'utf8');
  return /^ID=debian$/m.test(release) && /^VERSION_ID="12"$/m.test(release);
}

function isInstalled(name: string): boolean {
  const query = spawnSync('/usr/bin/dpkg-query', ['-W', '-f', `\${db:Status-Abbrev}`, name], {
    encoding: 'utf8',
  });
  return query.stdout.startsWith('ii');
}

/** Returns the output. @throws Error with its last lines */
export function apt(command: string, ...args: readonly string[]): string {
  return aptIn(process.cwd(), command, ...args);
}

/** @param directory where `download` leaves its files */
export function aptIn(directory: string, command: string, ...args: readonly string[]): string {
  // Another suite may be installing. The user _apt may not write to the directory.
  const locks = ['-o', 'DPkg::Lock::Timeout=600', '-o', 'APT::Sandbox::User=root'];
  const run = spawnSync(
    '/usr/bin/apt-get',
    [...locks, '-o', 'Dpkg::Use-Pty=0', '-q', command, ...args],
    {
      cwd: directory,
      encoding: 'utf8',
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  if (run.status === 0) return run.stdout;
  const last = `${run.stdout}${run.stderr}`.trim().split('\n').slice(-3).join(' ');
  throw new Error(`apt-get ${command} failed: ${last}`);
}
