// Debian's own packages of the clients, unmodified.

import { execFileSync } from 'node:child_process';

const packages = ['python3-openstackclient', 'python3-cyborgclient', 'python3-openstacksdk'];

/** @throws Error, one sentence, where they cannot be had on this machine */
export function installClients(): void {
  if (packages.every(isInstalled)) return;
  const isPossible = process.getuid?.() === 0 && canRun('apt-get');
  if (!isPossible) {
    throw new Error(
      `The clients are not installed, and only root on Debian can: apt-get install ${packages.join(' ')}`,
    );
  }
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const run = (...args: string[]) =>
    execFileSync('apt-get', args, { env: environment, stdio: ['ignore', 'ignore', 'inherit'] });
  run('-qq', 'update');
  run('-qq', '-y', '--no-install-recommends', 'install', ...packages);
}

function isInstalled(name: string): boolean {
  try {
    const status = execFileSync('dpkg-query', ['--status', name], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return status.includes('Status: install ok installed');
  } catch {
    return false;
  }
}

function canRun(command: string): boolean {
  try {
    execFileSync(command, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
