// The Nova and Placement under test: Debian 12's (Zed, 2022), or a current release from PyPI in a
// virtual environment of its own. Keystone, Glance, the database and the broker are Debian's in
// both cases.

import { join } from 'node:path';
import { ensureEnvironment } from '#test/support/suites/virtual-environment.ts';
import { CannotRun } from './packages.ts';

export interface Release {
  readonly name: string;
  /** The Python interpreter with Nova's modules. */
  readonly python: string;
  /** Path of a program of the release, such as `nova-manage`. */
  program(name: string): string;
  readonly pasteFile: string;
  /**
   * Since 2025 Nova and Placement have no server of their own: an operator chooses a WSGI server.
   */
  readonly servesByWaitress: boolean;
}

export const debian: Release = {
  name: 'Zed',
  python: '/usr/bin/python3',
  program: (name) => `/usr/bin/${name}`,
  pasteFile: '/usr/share/nova-common/api-paste.ini',
  servesByWaitress: false,
};

/** Files with the exact versions of all dependencies, as constraints for pip. */
const constraints: Readonly<Record<string, string>> = {
  '34.0.0': join(import.meta.dirname, 'nova-34.0.0.txt'),
};
const releaseNames = Object.keys(constraints);

/**
 * Installs a release of Nova, unless it is installed.
 *
 * @param directory of the virtual environments, kept between runs
 * @throws CannotRun
 */
export function installRelease(name: string, directory: string): Release {
  const requirements = constraints[name];
  if (requirements === undefined) {
    throw new CannotRun(`unknown release of Nova: ${name}; known are ${releaseNames.join(', ')}.`);
  }
  const at = join(directory, `nova-${name}`);
  try {
    console.log(`Installing Nova ${name} from PyPI, unless it is installed ...`);
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
