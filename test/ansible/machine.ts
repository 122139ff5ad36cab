// What the suite needs of this machine: ansible-core and ansible-lint, two packages of the agent,
// and folders of the system that are copies.

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { agentVersion } from '#agent/version.ts';
import { lastLineOf } from '#test/emulators/install.ts';
import { CannotRun } from '#test/support/suites/cannot-run.ts';
import { ensureEnvironment } from '#test/support/suites/virtual-environment.ts';

const root = join(import.meta.dirname, '../..');
const isolated = 'CYBORG_ANSIBLE_ISOLATED';
const tools = ['dpkg', 'dpkg-deb', 'zstd', 'cc', 'unshare', '/usr/bin/python3'];

/** A package as the role is given it. */
export interface Package {
  readonly file: string;
  readonly checksum: string;
}

export interface Machine {
  /** Folder of ansible-playbook and ansible-lint. */
  readonly programs: string;
  readonly debian: readonly [first: Package, next: Package];
  readonly archive: Package;
}

/** True in the process that may install packages. */
export const isIsolated = process.env[isolated] === 'yes';

/** @throws CannotRun */
export function refuseOtherMachines(directory: string): void {
  if (process.getuid?.() !== 0) throw new CannotRun('only root can make a mount namespace');
  if (process.arch !== 'x64') throw new CannotRun('it plays the package for x64');
  const missing = tools.find((tool) => spawnSync(tool, ['--version']).error !== undefined);
  if (missing) throw new CannotRun(`${missing} is missing`);
  const hasApt = spawnSync('/usr/bin/python3', ['-c', 'import apt']).status === 0;
  if (!hasApt) throw new CannotRun("Debian's python3-apt is missing");
  const tried = isolate(directory, ['true']);
  if (tried.status !== 0) {
    throw new CannotRun(`no overlay can be mounted: ${tried.stderr.trim().slice(-200)}`);
  }
}

function isolate(directory: string, command: readonly string[]) {
  return spawnSync('unshare', isolation(directory, command), { encoding: 'utf8' });
}

function isolation(directory: string, command: readonly string[]): string[] {
  const memory = join(directory, 'memory');
  mkdirSync(memory, { recursive: true });
  const script = join(import.meta.dirname, 'isolate.sh');
  return ['--mount', '--propagation', 'private', script, memory, ...command];
}

/** Runs the suite itself on copies. @returns its exit code */
export function runIsolated(directory: string): Promise<number> {
  const [, program = '', ...words] = process.argv;
  const child = spawn('unshare', isolation(directory, [process.execPath, program, ...words]), {
    stdio: 'inherit',
    env: { ...process.env, [isolated]: 'yes' },
  });
  return new Promise((done, failed) => {
    child.once('error', failed);
    child.once('exit', (code) => done(code ?? 1));
  });
}

/** @throws CannotRun where PyPI cannot be reached */
export function installAnsible(): string {
  const requirements = join(import.meta.dirname, 'requirements.txt');
  const version = createHash('sha256').update(readFileSync(requirements)).digest('hex');
  try {
    const folder = join(root, '.local', 'ansible', version.slice(0, 12));
    return ensureEnvironment(folder, requirements);
  } catch (error) {
    throw new CannotRun(`ansible cannot be installed: ${lastLineOf(error)}`);
  }
}

export function buildPackages(directory: string): Omit<Machine, 'programs'> {
  const [first, next] = (['1', '2'] as const).map((revision) => {
    const out = join(directory, `revision-${revision}`);
    rmSync(out, { recursive: true, force: true });
    mkdirSync(out, { recursive: true });
    const args = ['infra/agent-package/main.ts', '--revision', revision, '--out', out];
    execFileSync(process.execPath, args, { cwd: root, stdio: 'pipe' });
    return {
      debian: packageOf(join(out, `cyborg-agent_${agentVersion}-${revision}_amd64.deb`)),
      archive: packageOf(join(out, `cyborg-agent-${agentVersion}-linux-x64.tar.gz`)),
    };
  });
  if (!first || !next) throw new Error('There are two revisions.');
  return { debian: [first.debian, next.debian], archive: first.archive };
}

function packageOf(file: string): Package {
  if (!existsSync(file)) throw new Error(`${file} was not built.`);
  const digest = createHash('sha256').update(readFileSync(file)).digest('hex');
  return { file, checksum: `sha256:${digest}` };
}
