// Debian's packages of the services. Their own units must not start: only processes of this suite
// may run, and the machine may have a database or a broker of its own.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { ensurePackages } from '#test/support/suites/debian.ts';

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
export function ensureServices(): void {
  ensurePackages(packages, () => {
    // No databases for services that do not run.
    const answers = ['nova-common nova', 'glance-common glance', 'placement-common placement'];
    const input = answers.map((each) => `${each}/configure_db boolean false\n`).join('');
    execFileSync('/usr/bin/debconf-set-selections', { input });
    return forbidServices();
  });
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
