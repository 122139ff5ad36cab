// Where the entry of an alarm is: under the platform team's address, or by path and release tag.

import release from '../../package.json' with { type: 'json' };

/** @param prefix the address of docs/operations.md as the team publishes it */
export function runbookOf(name: string, prefix: string | undefined): string {
  return prefix === undefined
    ? `docs/operations.md#${name} at tag v${release.version}`
    : `${prefix}#${name}`;
}
