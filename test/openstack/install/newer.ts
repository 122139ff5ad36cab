// Whether the registry has newer releases than those that the suite knows.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { CannotRun } from '#test/support/suites/cannot-run.ts';
import { currentRequirements } from './releases.ts';

const services = ['keystone', 'glance', 'openstack-placement', 'neutron', 'nova'];

/**
 * Prints a line for each service.
 *
 * @returns whether all of them are the newest
 * @throws CannotRun where pip does not answer
 */
export function sayWhatIsNewer(): boolean {
  const pinned = readFileSync(currentRequirements, 'utf8').split('\n');
  const states = services.map((name) => {
    const own = pinned.find((line) => line.startsWith(`${name}==`))?.slice(name.length + 2);
    const newest = newestOf(name);
    console.log(own === newest ? `${name} ${own}` : `${name} ${own}: ${newest} is newer`);
    return own === newest;
  });
  return states.every(Boolean);
}

/** The first line of `pip index versions` is, for example, "nova (34.0.0)". */
function newestOf(name: string): string {
  const asked = spawnSync('python3', ['-m', 'pip', 'index', 'versions', name], {
    encoding: 'utf8',
  });
  const version = /^\S+ \((\S+)\)/.exec(asked.stdout ?? '')?.[1];
  if (version === undefined) {
    throw new CannotRun(`pip tells no versions of ${name}: ${(asked.stderr ?? '').trim()}`);
  }
  return version;
}
