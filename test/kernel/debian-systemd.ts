// A root file system with Debian's systemd and dpkg, for hosts whose first process is systemd. Its
// packages are fetched and unpacked, never installed: none of their scripts has run there.

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
import { apt, aptIn, CannotRun } from './packages.ts';

/** Their dependencies come with them. util-linux, grep and sed are on every Debian. */
const packages = [
  ...['systemd', 'dpkg', 'dash', 'coreutils', 'util-linux', 'grep', 'sed', 'diffutils', 'tar'],
  ...['kmod', 'libc-bin', 'libstdc++6', 'iproute2', 'nvme-cli'],
];
/** Links to folders of /usr, on every Debian 12. */
const mergedFolders = ['bin', 'sbin', 'lib', 'lib64'];
const unwanted = ['doc', 'man', 'locale', 'info'].map((name) => `--exclude=./usr/share/${name}/*`);
/** Where guest/init shows the suite's own programs and modules; it runs the commands there. */
const own = '/suite';

/**
 * The service of the suite's own commands; the VM ends with it. Its Node is not on the path of
 * others: the agent's package brings its own.
 */
const commands = `[Unit]
Description=Commands of the suite
SuccessAction=poweroff-immediate
FailureAction=poweroff-immediate

[Service]
Environment=UV_THREADPOOL_SIZE=16 HOME=/root
Environment=PATH=/usr/local/bin:/usr/sbin:/usr/bin:${own}/usr/local/bin
ExecStart=${own}/usr/bin/node ${own}/commands.mjs
StandardOutput=tty
TTYPath=/dev/console
`;

/** Units that need what the VM does not have: terminals, D-Bus. */
const masked = ['getty.target', 'systemd-logind.service'];

/** @param directory of the cache @throws CannotRun where the packages cannot be fetched */
export function fetchSystemd(directory: string): string {
  const place = join(directory, 'systemd');
  const root = join(place, 'root');
  const done = join(place, 'fetched');
  const wanted = readFileSync(import.meta.filename, 'utf8');
  if (existsSync(done) && readFileSync(done, 'utf8') === wanted) return root;
  rmSync(place, { recursive: true, force: true });
  const archives = join(place, 'archives');
  mkdirSync(join(archives, 'partial'), { recursive: true });
  try {
    download(place, archives);
  } catch (error) {
    throw new CannotRun(`it needs Debian's packages of systemd: ${String(error)}`);
  }
  const files = readdirSync(archives).filter((name) => name.endsWith('.deb'));
  for (const name of mergedFolders) {
    mkdirSync(join(root, 'usr', name), { recursive: true });
    symlinkSync(`usr/${name}`, join(root, name));
  }
  const known = files.map((name) => unpack(join(archives, name), root));
  rmSync(archives, { recursive: true });
  write(root, 'var/lib/dpkg/status', known.join('\n'));
  configure(root);
  writeFileSync(done, wanted);
  return root;
}

/** All that the packages depend on, as for a machine that has nothing yet. */
function download(place: string, archives: string): void {
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

/** What the scripts of the packages and an installer would have written. */
function configure(root: string): void {
  write(root, 'var/lib/dpkg/info/format', '1\n');
  write(root, 'etc/passwd', 'root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n');
  write(root, 'etc/group', 'root:x:0:\ntty:x:5:\nnogroup:x:65534:\n');
  // The only address that QEMU answers at.
  write(root, 'etc/hosts', '10.0.2.100 localhost\n');
  // Without one, systemd would take this for the first boot, and enable units.
  write(root, 'etc/machine-id', `${'5'.repeat(32)}\n`);
  const units = 'etc/systemd/system';
  write(root, `${units}/suite.service`, commands);
  link(root, '../suite.service', `${units}/multi-user.target.wants/suite.service`);
  link(root, '/usr/lib/systemd/system/multi-user.target', `${units}/default.target`);
  for (const unit of masked) link(root, '/dev/null', `${units}/${unit}`);
  link(root, `${own}/lib/modules`, 'usr/lib/modules');
  const empty = ['dev', 'proc', 'sys', 'run', 'tmp', 'root', own, 'var/lib/dpkg/updates'];
  for (const name of empty) mkdirSync(join(root, name), { recursive: true });
}

function write(root: string, name: string, text: string): void {
  mkdirSync(dirname(join(root, name)), { recursive: true });
  writeFileSync(join(root, name), text);
}

function link(root: string, target: string, name: string): void {
  mkdirSync(dirname(join(root, name)), { recursive: true });
  symlinkSync(target, join(root, name));
}
