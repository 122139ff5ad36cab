// The OpenStack under test: the current release from PyPI in a virtual environment, with default
// policies, or Debian 12's (Zed, 2022). Debian has the database and the broker of both.

import { join } from 'node:path';
import { CannotRun } from '#test/support/suites/cannot-run.ts';
import { ensureEnvironment } from '#test/support/suites/virtual-environment.ts';

export interface Release {
  readonly name: string;
  /** The Python interpreter with the services' modules. */
  readonly python: string;
  /** Path of a program of the release, such as `nova-manage`. */
  program(name: string): string;
  readonly pasteFiles: Readonly<Record<'nova' | 'glance' | 'neutron', string>>;
  /** Since 2025 no service has a server of its own: an operator chooses a WSGI server. */
  readonly servesByWaitress: boolean;
}

export const debian: Release = {
  name: 'Zed',
  python: '/usr/bin/python3',
  program: (name) => `/usr/bin/${name}`,
  pasteFiles: {
    nova: '/usr/share/nova-common/api-paste.ini',
    glance: '/usr/share/glance-common/glance-api-paste.ini',
    neutron: '/usr/share/neutron-common/api-paste.ini',
  },
  servesByWaitress: false,
};

/** Keystone 30.0.0, Glance 33.0.0, Placement 16.0.0, Neutron 29.0.0 and Nova 34.0.0. */
const current = '2026.2';

/** All packages with their versions, in the form of pip freeze. */
export const currentRequirements = join(import.meta.dirname, `openstack-${current}.txt`);

/**
 * Installs a release, unless it is installed.
 *
 * @param name by default the current one
 * @param directory of the virtual environments, kept between runs
 * @throws CannotRun
 */
export function installRelease(name: string | undefined, directory: string): Release {
  if (name === debian.name) return debian;
  if (name !== undefined && name !== current) {
    throw new CannotRun(`unknown release: ${name}; known are ${current} and ${debian.name}.`);
  }
  const at = join(directory, `openstack-${current}`);
  try {
    console.log(`Installing OpenStack ${current} from PyPI, unless it is installed ...`);
    ensureEnvironment(at, currentRequirements);
  } catch (error) {
    throw new CannotRun((error as Error).message);
  }
  return {
    name: current,
    python: join(at, 'bin/python'),
    program: (program) => join(at, 'bin', program),
    pasteFiles: {
      nova: join(at, 'etc/nova/api-paste.ini'),
      glance: join(at, 'etc/glance/glance-api-paste.ini'),
      neutron: join(at, 'etc/neutron/api-paste.ini'),
    },
    servesByWaitress: true,
  };
}
