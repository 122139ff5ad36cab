// Debian's packages of the services. Their own units must not start: only processes of this suite
// may run, and the machine may have a database or a broker of its own.

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { CannotRun } from '#test/kernel/packages.ts';

const packages = [
  'python3-keystone',
  'python3-placement',
  'python3-nova',
  'python3-glance',
  'python3-neutron',
  'nova-common',
  'glance-common',
  'neutron-common',
  'placement-common',
  'uwsgi-core',
  'uwsgi-plugin-python3',
  'rabbitmq-server',
  'mariadb-server-core',
  'mariadb-client-core',
  'python3-pymysql',
  'python3-venv',
  'python3-openstackclient',
  'python3-cyborgclient',
  'python3-osc-placement',
  'patch',
];

/** What Cyborg needs beside the others; Debian has no package of Cyborg itself. */
export const packagesOfCyborg = [
  'python3-pecan',
  'python3-wsme',
  'python3-cursive',
  'python3-jsonpatch',
  'python3-microversion-parse',
  'python3-oslo.upgradecheck',
  'python3-psutil',
  'python3-pbr',
  'python3-setuptools',
];

/** Installs the missing packages. @throws CannotRun */
export function ensurePackages(names: readonly string[] = packages): void {
  const missing = missingPackages(names);
  if (missing.length === 0) return;
  if (!existsSync('/usr/bin/apt-get') || process.getuid?.() !== 0) {
    throw new CannotRun(
      'The OpenStack suite needs Debian and, to install its packages, root; ' +
        `these are missing: ${missing.join(' ')}.`,
    );
  }
  console.log(`Installing ${missing.length} packages and their dependencies ...`);
  const withdraw = forbidServices();
  try {
    // Answer the packages' question: no databases for services that do not run.
    const answers = ['nova-common nova', 'glance-common glance', 'placement-common placement']
      .map((each) => `${each}/configure_db boolean false\n`)
      .join('');
    execFileSync('/usr/bin/debconf-set-selections', { input: answers });
    apt('update');
    apt('install', '--yes', '--no-install-recommends', ...missing);
  } finally {
    withdraw();
  }
}

function missingPackages(names: readonly string[]): string[] {
  const query = spawnSync(
    '/usr/bin/dpkg-query',
    ['-W', '-f', `\${binary:Package} \${db:Status-Abbrev}\n`, ...names],
    { encoding: 'utf8' },
  );
  const installed = new Set(
    (query.stdout ?? '')
      .split('\n')
      .filter((line) => line.endsWith(' ii '))
      .map((line) => line.split(/[ :]/)[0]),
  );
  return names.filter((name) => !installed.has(name));
}

/**
 * invoke-rc.d asks this file before it starts a unit; 101 is "forbidden".
 * https://people.debian.org/~hmh/invokerc.d-policyrc.d-specification.txt
 */
function forbidServices(): () => void {
  const file = '/usr/sbin/policy-rc.d';
  const text = '#!/bin/sh\n# Written by a test suite that installs packages.\nexit 101\n';
  const isOurs = existsSync(file) && readFileSync(file, 'utf8') === text;
  if (existsSync(file) && !isOurs) return () => {};
  writeFileSync(file, text, { mode: 0o755 });
  return () => rmSync(file, { force: true });
}

function apt(...args: string[]): void {
  const options = ['-o', 'DPkg::Lock::Timeout=600', '-o', 'Dpkg::Use-Pty=0', '-q'];
  const run = spawnSync('/usr/bin/apt-get', [...options, ...args], {
    encoding: 'utf8',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 64 * 1024 * 1024,
  });
  if (run.status === 0) return;
  const last = `${run.stdout}${run.stderr}`.trim().split('\n').slice(-3).join(' ');
  throw new CannotRun(`apt-get ${args[0]} failed: ${last}`);
}
