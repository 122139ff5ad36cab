// Which Nova and Placement the suite runs: Debian 12's (Zed, 2022), or a current release from PyPI in a
// virtual environment of its own. Keystone, Glance, the database and the broker are Debian's in both.

import { join } from 'node:path';
import { ensureEnvironment } from '#test/support/virtual-environment.ts';
import { CannotRun } from './packages.ts';

export interface Release {
  readonly name: string;
  /** The interpreter that has Nova's modules. */
  readonly python: string;
  /** Path of a program of the release, e.g. `nova-manage`. */
  program(name: string): string;
  readonly pasteFile: string;
  /** Since 2025 Nova and Placement bring no server of their own: a WSGI server of the operator's choice serves them. */
  readonly servesByWaitress: boolean;
}

export const debian: Release = {
  name: 'Zed',
  python: '/usr/bin/python3',
  program: (name) => `/usr/bin/${name}`,
  pasteFile: '/usr/share/nova-common/api-paste.ini',
  servesByWaitress: false,
};

/** Each with the exact versions of all that it needs beside it, as pip takes them. */
const constraints: Readonly<Record<string, string>> = {
  '34.0.0': join(import.meta.dirname, 'nova-34.0.0.txt'),
};
export const releaseNames = Object.keys(constraints);

/**
 * Installs a release of Nova, unless it is there.
 *
 * @param directory where virtual environments are kept between runs
 * @throws CannotRun
 */
export function installRelease(name: string, directory: string): Release {
  const requirements = constraints[name];
  if (requirements === undefined) {
    throw new CannotRun(`There is no Nova ${name} here; there are ${releaseNames.join(', ')}.`);
  }
  const at = join(directory, `nova-${name}`);
  try {
    console.log(`Nova ${name} is installed from PyPI, unless it is there ...`);
    ensureEnvironment(at, requirements);
  } catch (error) {
    throw new CannotRun((error as Error).message);
  }
  return {
    name,
    python: join(at, 'bin/python'),
    program: (program) => join(at, 'bin', program),
    pasteFile: join(at, 'etc/nova/api-paste.ini'),
    servesByWaitress: true,
  };
}
