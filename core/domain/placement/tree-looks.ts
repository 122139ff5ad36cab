// Which hosts' trees in Placement are looked at in one minute. The same time gives the same hosts,
// so that no state is needed.

import type { HostSummary } from '#core/domain/host/host-summary.ts';

/** The change of a device's row has its providers written; until then it may have none. */
export const writtenWithinMs = 60_000;
/**
 * How long providers have been lost when they are written again. Nova deletes a tree from its
 * leaves, and leaves the compute node's provider where another one has appeared meanwhile.
 */
export const lostForMs = 15_000;

/** Five requests a second, a fraction of what the hourly comparison of as many devices takes. */
const looksMax = 300;
/** Each is a read of the host and a request to Placement. */
export const looksAtOnce = 10;

/** The number of minutes in which each host is looked at once. */
export function sharesOf(hosts: number): number {
  return Math.max(1, Math.ceil(hosts / looksMax));
}

/**
 * The hosts whose tree is lost, and a share of the others: each is looked at once in as many
 * minutes as there are shares. Hosts that were never offered a device have no tree.
 */
export function hostsToLookAt(
  hosts: readonly HostSummary[],
  nowMs: number,
): readonly HostSummary[] {
  const shares = sharesOf(hosts.length);
  const minute = Math.floor(nowMs / 60_000);
  const lost = hosts.filter(isLost);
  const due = hosts.filter(
    (host, index) => host.devices > 0 && !isLost(host) && index % shares === minute % shares,
  );
  // More lost trees than one minute has looks for take turns.
  const first = lost.length > looksMax ? (minute * looksMax) % lost.length : 0;
  const turns = [...lost.slice(first), ...lost.slice(0, first)];
  return [...turns.slice(0, looksMax), ...due];
}

function isLost({ lostProviders }: HostSummary): boolean {
  return lostProviders !== undefined;
}
