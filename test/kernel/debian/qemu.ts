// A newer QEMU than that of Debian 12, which emulates a network card with virtual functions
// (`igb`, from QEMU 8.0 on). Its packages come from Debian's backports, and are never installed.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CannotRun } from '#test/support/suites/cannot-run.ts';
import { aptIn } from '#test/support/suites/debian.ts';

export interface Qemu {
  readonly program: string;
  /** Before all others. */
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** QEMU of the machine. */
export const installedQemu: Qemu = { program: 'qemu-system-x86_64', args: [], environment: {} };

export const suite = 'bookworm-backports';
const packages = ['qemu-system-x86', 'qemu-system-data', 'seabios'];
const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

/** @param directory of the cache @throws CannotRun where the packages cannot be fetched */
export function fetchNewerQemu(directory: string): Qemu {
  const place = join(directory, suite);
  const root = join(place, 'root');
  const done = join(place, 'fetched');
  if (!existsSync(done)) {
    rmSync(place, { recursive: true, force: true });
    try {
      unpackBackports(place, root, () => packages);
    } catch (error) {
      throw new CannotRun(`it needs QEMU of ${suite}: ${String(error)}`);
    }
  }
  // Modules of the installed QEMU are of another build.
  const modules = join(place, 'modules');
  mkdirSync(modules, { recursive: true });
  const data = ['usr/share/qemu', 'usr/share/seabios'].flatMap((each) => ['-L', join(root, each)]);
  const qemu: Qemu = {
    program: join(root, 'usr/bin/qemu-system-x86_64'),
    args: data,
    environment: { QEMU_MODULE_DIR: modules },
  };
  const trial = spawnSync(qemu.program, [...data, '-device', 'igb,help'], {
    encoding: 'utf8',
    env: { ...process.env, ...qemu.environment },
  });
  if (trial.status !== 0) {
    throw new CannotRun(`QEMU of ${suite} does not start: ${trial.stderr.trim().split('\n')[0]}`);
  }
  writeFileSync(done, '');
  return qemu;
}

/**
 * Unpacks packages of Debian's backports, with lists of its own: those of the machine need not
 * have them.
 *
 * @param choose the packages, by what each of these depends on
 */
export function unpackBackports(
  place: string,
  root: string,
  choose: (dependsOn: (name: string) => string) => readonly string[],
): void {
  const files = join(place, 'packages');
  const lists = join(place, 'lists');
  for (const each of [files, root, join(lists, 'partial')]) mkdirSync(each, { recursive: true });
  const sources = join(place, 'sources.list');
  writeFileSync(sources, `deb [signed-by=${keyring}] ${mirror()} ${suite} main\n`);
  const options = [
    ...['-o', `Dir::Etc::SourceList=${sources}`, '-o', 'Dir::Etc::SourceParts=-'],
    ...['-o', `Dir::State::Lists=${lists}`, '-o', 'Dir::Cache::pkgcache='],
    ...['-o', 'Dir::Cache::srcpkgcache='],
  ];
  aptIn(files, 'update', ...options);
  const dependsOn = (name: string) =>
    execFileSync('/usr/bin/apt-cache', [...options, 'depends', name], { encoding: 'utf8' });
  const chosen = choose(dependsOn).map((name) => `${name}/${suite}`);
  aptIn(files, 'download', ...options, ...chosen);
  for (const file of readdirSync(files)) {
    execFileSync('/usr/bin/dpkg-deb', ['-x', join(files, file), root]);
  }
  for (const each of [files, lists]) rmSync(each, { recursive: true });
}

/** Where the machine has Debian 12 from. */
function mirror(): string {
  const format = ['--format', '$(REPO_URI) $(RELEASE)'];
  const args = ['indextargets', ...format, 'Created-By: Packages'];
  const targets = execFileSync('/usr/bin/apt-get', args, { encoding: 'utf8' });
  const [, found] = /^(\S+) bookworm$/m.exec(targets) ?? [];
  if (found === undefined) throw new Error('apt has no source of bookworm.');
  return found;
}
