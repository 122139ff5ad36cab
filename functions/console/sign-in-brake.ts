// Slows down password guessing, and no other sign-in: failures count by source address and by user
// name, and each failure more doubles the wait. The counts are in the memory of one container, so
// that the function needs no right in AWS; Keystone counts for all of them and locks accounts.
//
// Failures from other addresses do not delay an address that has not failed for the name itself:
// the owner of the name signs in while others guess.

import { isIPv6 } from 'node:net';

/** Failures without a wait: people mistype. */
const freeFailures = 3;
const firstWaitMs = 1_000;
/** A guesser tries four passwords an hour then. */
const addressWaitMsMax = 15 * 60_000;
/** Short: the owner of the name who has mistyped once waits with the guessers. */
const nameWaitMsMax = 30_000;
/** Failures are forgotten this long after the last one. */
const forgottenMs = 60 * 60_000;
/** Some megabytes; the counts that changed longest ago make room. */
const entriesMax = 10_000;

interface Attempt {
  /** The credentials were right: the failures of this name from this address are forgotten. */
  succeeded(): void;
  /** Keystone is away: it has not judged the credentials. */
  undone(): void;
}

export interface SignInBrake {
  /**
   * Counts as a failure until it ends, so that attempts at once are counted too.
   *
   * @returns seconds to wait, if it comes too early
   */
  begin(address: string, name: string): Attempt | { readonly waitSeconds: number };
}

interface Failures {
  count: number;
  lastAt: number;
}

export function createSignInBrake(clock: () => number): SignInBrake {
  const byAddress = new Map<string, Failures>();
  const byName = new Map<string, Failures>();
  const byBoth = new Map<string, Failures>();

  function waitMs(entries: Map<string, Failures>, key: string, waitMsMax: number): number {
    const { count, lastAt } = entries.get(key) ?? { count: 0, lastAt: 0 };
    if (count < freeFailures || clock() - lastAt > forgottenMs) return 0;
    const wait = Math.min(firstWaitMs * 2 ** (count - freeFailures), waitMsMax);
    return Math.max(lastAt + wait - clock(), 0);
  }

  function add(entries: Map<string, Failures>, key: string, change: number): void {
    const { count = 0, lastAt = 0 } = entries.get(key) ?? {};
    const kept = clock() - lastAt > forgottenMs ? 0 : count;
    entries.delete(key);
    // Taking a failure back does not change the time of the last failure.
    const at = change > 0 ? clock() : lastAt;
    if (kept + change > 0) entries.set(key, { count: kept + change, lastAt: at });
    const [oldest] = entries.keys();
    if (entries.size > entriesMax && oldest !== undefined) entries.delete(oldest);
  }

  return {
    begin(source, name) {
      const address = toNetwork(source);
      const both = `${address} ${name}`;
      const hasFailed = byBoth.has(both);
      const wait = Math.max(
        waitMs(byAddress, address, addressWaitMsMax),
        hasFailed ? waitMs(byName, name, nameWaitMsMax) : 0,
      );
      if (wait > 0) return { waitSeconds: Math.ceil(wait / 1_000) };
      const change = (by: number) => {
        add(byAddress, address, by);
        add(byName, name, by);
        add(byBoth, both, by);
      };
      change(1);
      return {
        succeeded: () => change(-(byBoth.get(both)?.count ?? 0)),
        undone: () => change(-1),
      };
    },
  };
}

/** One customer of a provider has a whole /64 of IPv6. */
function toNetwork(address: string): string {
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.toLowerCase().split('::');
  const groups = head.split(':').filter((each) => each !== '');
  const after = (tail ?? '').split(':').filter((each) => each !== '');
  const zeros = tail === undefined ? 0 : 8 - groups.length - after.length;
  const all = [...groups, ...Array.from({ length: zeros }, () => '0'), ...after];
  const network = all.slice(0, 4).map((each) => each.replace(/^0+(?=.)/, ''));
  return network.every((each) => each === '0') ? address : `${network.join(':')}::/64`;
}
