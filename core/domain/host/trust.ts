// Hosts whose word counts for nothing for now: they are asked for nothing, and what they answer
// proves nothing.

import type { StoredHost } from './host.ts';

type Trusted = Pick<StoredHost, 'hostname' | 'conflict' | 'revokedAt'>;

/** Why the host is not trusted, as a clause; undefined for one that is. */
export function mistrustOf({ hostname, conflict, revokedAt }: Trusted): string | undefined {
  if (revokedAt !== undefined) return `host ${hostname} was revoked at ${revokedAt}`;
  return conflict && `two agents report as host ${hostname}`;
}
