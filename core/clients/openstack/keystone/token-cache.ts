// Caches validated tokens for a while. Unknown tokens have a separate cache: a flood of them must
// not evict valid tokens.

import { createHash } from 'node:crypto';
import { hasRole } from '#core/domain/roles.ts';
import { tokenCacheSeconds } from '#core/settings.ts';
import type { TokenIdentity } from './keystone.ts';

const knownMax = 1_000;
// A replica of Keystone may learn a new token with a delay. Clients fetch a new token after a 401.
const unknownMs = 30_000;
const unknownMax = 10_000;

interface TokenCache {
  /** Undefined if Keystone must be asked. */
  find(key: string): Verdict | undefined;
  keep(key: string, verdict: Verdict, allowExpired: boolean): void;
}

/** Without an identity: Keystone does not know the token. */
interface Verdict {
  readonly identity: TokenIdentity | undefined;
}

interface Entry extends Verdict {
  readonly staleAt: number;
}

/** Memory dumps and logs of keys must not hold tokens. */
export function tokenKey(token: string, allowExpired: boolean): string {
  return `${createHash('sha256').update(token).digest('base64')} ${allowExpired}`;
}

/** @param secondsByRole shorter times; the shortest of a token's roles applies */
export function createTokenCache(
  clock: () => number,
  secondsByRole: Readonly<Record<string, number>>,
): TokenCache {
  const entries = new Map<string, Entry>();
  const unknown = new Map<string, Entry>();

  function staleAt(identity: TokenIdentity | undefined, allowExpired: boolean): number {
    if (!identity) return clock() + unknownMs;
    const shorter = Object.entries(secondsByRole).flatMap(([role, seconds]) =>
      hasRole(identity.roles, [role]) ? seconds : [],
    );
    const latest = clock() + Math.min(tokenCacheSeconds, ...shorter) * 1_000;
    return allowExpired ? latest : Math.min(latest, identity.expiresAt.getTime());
  }

  /** A Map keeps insertion order: the first key is the least recently used. */
  function put(entries: Map<string, Entry>, entriesMax: number, key: string, entry: Entry): void {
    entries.delete(key);
    entries.set(key, entry);
    const [oldest] = entries.keys();
    if (entries.size > entriesMax && oldest !== undefined) entries.delete(oldest);
  }

  function putByKind(key: string, entry: Entry): void {
    if (entry.identity) put(entries, knownMax, key, entry);
    else put(unknown, unknownMax, key, entry);
  }

  return {
    find: (key) => {
      const entry = entries.get(key) ?? unknown.get(key);
      if (!entry) return undefined;
      if (entry.staleAt > clock()) {
        putByKind(key, entry);
        return entry;
      }
      entries.delete(key);
      unknown.delete(key);
      return undefined;
    },
    keep: (key, { identity }, allowExpired) =>
      putByKind(key, { identity, staleAt: staleAt(identity, allowExpired) }),
  };
}
