// The unmodified clients: Debian's packages, and from PyPI a current release and the last with a
// plug-in.

import { dirname, join } from 'node:path';
import { ensurePackages } from '#test/support/suites/debian.ts';
import { ensureEnvironment } from '#test/support/suites/virtual-environment.ts';

const packages = [
  'python3-openstackclient',
  'python3-cyborgclient',
  'python3-openstacksdk',
  'python3-venv',
];

export interface Client {
  readonly name: string;
  /** Path of the command `openstack`. */
  readonly openstack: string;
}

/**
 * It has the accelerator commands built in and sends no microversion; older ones need a plug-in.
 */
export const currentClient = 'openstackclient-10.5.0';
const fromPypi = [currentClient, 'openstackclient-8.3.0-cyborgclient-3.0.0'];

/** @param directory of the virtual environments */
export function clientsIn(directory: string): readonly Client[] {
  const debian = { name: 'Debian', openstack: '/usr/bin/openstack' };
  return [
    debian,
    ...fromPypi.map((name) => {
      const requirements = join(import.meta.dirname, 'requirements', `${name}.txt`);
      const programs = ensureEnvironment(join(directory, name), requirements);
      return { name, openstack: join(programs, 'openstack') };
    }),
  ];
}

/** The interpreter that has the packages of the client. */
export function pythonOf(clients: readonly Client[], name: string): string {
  const client = clients.find((each) => each.name === name);
  if (client === undefined) throw new RangeError(`There is no client ${name}.`);
  return join(dirname(client.openstack), 'python3');
}

/** Installs the packages that are missing. @throws CannotRun */
export function installClients(): void {
  ensurePackages(packages);
}
