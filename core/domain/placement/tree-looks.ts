// Which hosts' trees in Placement are looked at in one minute, and which are compared in full. The
// same time gives the same hosts, so that no state is needed.

import { createHash } from 'node:crypto';
import type { HostSummary } from '#core/domain/host/host-summary.ts';

/** The change of a device's row has its providers written; until then it may have none. */
export const writtenWithinMs = 60_000;
/**
 * How long providers have been lost when they are written again. Nova deletes a tree from its
 * leaves, and leaves the compute node's provider where another one has appeared meanwhile.
 */
export const lostForMs = 15_000;

/** Five requests a second. */
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

/** Placement gets some ten requests for each of them: fourteen a second. */
const comparedPerHour = 5000;
/** How long a change by hand in Placement stays at most, however large the cloud is. */
export const compareHoursMax = 6;

/** The number of hours in which each host is compared with Placement once. */
export function hoursOfComparison(devices: number): number {
  return Math.min(Math.max(1, Math.ceil(devices / comparedPerHour)), compareHoursMax);
}

/**
 * The hosts that are compared in this minute, also those whose last device is gone: a row may be
 * left of it. A new host moves no other to another minute.
 */
export function hostsToCompare(
  hosts: readonly HostSummary[],
  nowMs: number,
): readonly HostSummary[] {
  const devices = hosts.reduce((sum, host) => sum + host.devices, 0);
  const minutes = hoursOfComparison(devices) * 60;
  const minute = Math.floor(nowMs / 60_000) % minutes;
  return hosts.filter((host) => Math.floor(placeOf(host) * minutes) === minute);
}

/** The same for a host at all times; from 0 to less than 1. */
function placeOf({ hostname }: HostSummary): number {
  return createHash('sha256').update(hostname).digest().readUInt32BE() / 2 ** 32;
}

function isLost({ lostProviders }: HostSummary): boolean {
  return lostProviders !== undefined;
}
