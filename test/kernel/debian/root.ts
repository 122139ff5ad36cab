// A root file system of Debian's packages, for VMs that need more than the suite's own initramfs.
// The packages are fetched and unpacked, never installed: none of their scripts has run there.

import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { CannotRun } from '#test/support/suites/cannot-run.ts';
import { apt, aptIn } from '#test/support/suites/debian.ts';

/** Links to folders of /usr, on every Debian 12. */
const mergedFolders = ['bin', 'sbin', 'lib', 'lib64'];
const unwanted = ['doc', 'man', 'locale', 'info'].map((name) => `--exclude=./usr/share/${name}/*`);
/** Where guest/init shows the suite's own programs and modules; it runs the commands there. */
export const own = '/suite';

interface RootOptions {
  /** Its dependencies come with it. */
  readonly packages: readonly string[];
  /** The file that decides what the root has: a change of it makes the root anew. */
  readonly madeBy: string;
  /** Writes what the scripts of the packages and an installer would have written. */
  configure(root: string): void;
}

/** @param place keeps the root @throws CannotRun where the packages cannot be fetched */
export function fetchRoot(place: string, { packages, madeBy, configure }: RootOptions): string {
  const root = join(place, 'root');
  const done = join(place, 'fetched');
  const wanted = [madeBy, import.meta.filename].map((file) => readFileSync(file, 'utf8')).join();
  if (existsSync(done) && readFileSync(done, 'utf8') === wanted) return root;
  rmSync(place, { recursive: true, force: true });
  const archives = join(place, 'archives');
  mkdirSync(join(archives, 'partial'), { recursive: true });
  try {
    download(place, archives, packages);
  } catch (error) {
    throw new CannotRun(`it needs Debian's packages of ${packages[0]}: ${String(error)}`);
  }
  const files = readdirSync(archives).filter((name) => name.endsWith('.deb'));
  for (const name of mergedFolders) {
    mkdirSync(join(root, 'usr', name), { recursive: true });
    symlinkSync(`usr/${name}`, join(root, name));
  }
  const known = files.map((name) => unpack(join(archives, name), root));
  rmSync(archives, { recursive: true });
  write(root, 'var/lib/dpkg/status', known.join('\n'));
  write(root, 'var/lib/dpkg/info/format', '1\n');
  // The only address that QEMU answers at.
  write(root, 'etc/hosts', '10.0.2.100 localhost\n');
  write(root, 'etc/machine-id', `${'5'.repeat(32)}\n`);
  link(root, `${own}/lib/modules`, 'usr/lib/modules');
  const empty = ['dev', 'proc', 'sys', 'run', 'tmp', 'root', own, 'var/lib/dpkg/updates'];
  for (const name of empty) mkdirSync(join(root, name), { recursive: true });
  configure(root);
  writeFileSync(done, wanted);
  return root;
}

/** All that the packages depend on, as for a machine that has nothing yet. */
function download(place: string, archives: string, packages: readonly string[]): void {
  const status = join(place, 'status');
  writeFileSync(status, '');
  const options = [
    ...['--yes', '--no-install-recommends', '--download-only', '-o', 'Debug::NoLocking=1'],
    ...['-o', `Dir::State::status=${status}`, '-o', `Dir::Cache::archives=${archives}`],
  ];
  const install = () => aptIn(place, 'install', ...options, ...packages);
  try {
    install();
  } catch {
    // A new machine has no lists of packages, and an old list names superseded versions.
    apt('update');
    install();
  }
}

/** Returns its entry in the database of dpkg. */
function unpack(file: string, root: string): string {
  const script = 'dpkg-deb --fsys-tarfile "$0" | tar -x --keep-directory-symlink -C "$@"';
  execFileSync('/bin/sh', ['-c', script, file, root, '--no-same-owner', ...unwanted]);
  const control = execFileSync('/usr/bin/dpkg-deb', ['-f', file], { encoding: 'utf8' });
  const field = (key: string) => new RegExp(`^${key}: (.*)$`, 'm').exec(control)?.[1];
  const isCoinstallable = field('Multi-Arch') === 'same';
  const suffix = isCoinstallable ? `:${field('Architecture')}` : '';
  write(root, `var/lib/dpkg/info/${field('Package')}${suffix}.list`, '');
  return control.replace(/^Package: .*$/m, '$&\nStatus: install ok installed');
}

export function write(root: string, name: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(join(root, name)), { recursive: true });
  writeFileSync(join(root, name), text, { mode });
}

export function link(root: string, target: string, name: string): void {
  mkdirSync(dirname(join(root, name)), { recursive: true });
  symlinkSync(target, join(root, name));
}
