// Debian's packages, which suites install where they are missing.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { CannotRun } from './cannot-run.ts';

/** One process at a time: apt waits for another at work only in part. */
const lock = '/run/lock/cyborg-suites-apt';

/**
 * Installs what is missing of the packages.
 *
 * @param prepare runs before an installation, and returns what runs after it
 * @throws CannotRun
 */
export function ensurePackages(names: readonly string[], prepare = () => () => {}): void {
  const missing = missingOf(names);
  if (missing.length === 0) return;
  if (!existsSync('/usr/bin/apt-get') || process.getuid?.() !== 0) {
    throw new CannotRun(`it needs Debian, and root to install ${missing.join(' ')}`);
  }
  console.log(`Installing ${missing.length} packages and their dependencies ...`);
  const tidy = prepare();
  try {
    apt('update');
    apt('install', '--yes', '--no-install-recommends', ...missing);
  } catch (error) {
    throw new CannotRun((error as Error).message);
  } finally {
    tidy();
  }
}

function missingOf(names: readonly string[]): string[] {
  const format = `\${binary:Package} \${db:Status-Abbrev}\n`;
  const query = spawnSync('/usr/bin/dpkg-query', ['-W', '-f', format, ...names], {
    encoding: 'utf8',
  });
  const installed = new Set(
    (query.stdout ?? '')
      .split('\n')
      .filter((line) => line.endsWith(' ii '))
      .map((line) => line.split(/[ :]/)[0]),
  );
  return names.filter((name) => !installed.has(name));
}

/** Returns the output. @throws Error with its last lines */
export function apt(command: string, ...args: readonly string[]): string {
  return aptIn(process.cwd(), command, ...args);
}

/** @param directory where `download` leaves its files */
export function aptIn(directory: string, command: string, ...args: readonly string[]): string {
  // The machine's own updates may be at work. The user _apt may not write to the directory.
  const locks = ['-o', 'DPkg::Lock::Timeout=600', '-o', 'APT::Sandbox::User=root'];
  const options = [...locks, '-o', 'Dpkg::Use-Pty=0', '-q'];
  const run = spawnSync(
    '/usr/bin/flock',
    [lock, '/usr/bin/apt-get', ...options, command, ...args],
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
