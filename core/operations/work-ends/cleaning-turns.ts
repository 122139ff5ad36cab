// The turns of hosts that share a failure domain: each attempt to clean handles in quarantine
// takes a place in the group of its host before its job is created, and gives it back at the end.

import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import {
  type CleaningGroup,
  endCleaning,
  pausedUntilMs,
  pausingFailures,
  placesLeft,
  startCleanings,
} from '#core/domain/host-work/cleaning-groups.ts';
import { isStopped } from '#core/domain/host-work/deadlines.ts';
import type { HostRelease } from '#core/domain/host-work/host-work.ts';
import { contended, untilWritten } from '#core/operations/optimistic-writes.ts';
import { timeNow } from '../time-now.ts';
import { type EndOfJob, failureReason } from './end-of-job.ts';

/** Before the next run of the sweep takes its time, which is a minute after that of this one. */
export const nextSweepMs = 30_000;

interface Turn {
  /** How many releases may start now. */
  readonly places: number;
  /** When to ask again, if none may; ms since 1970. */
  readonly nextMs: number;
}

/** A host without a failure domain waits for no other. */
export async function readTurn(
  deps: ConsumerDeps,
  { hostname, failureDomain }: StoredHost,
): Promise<Turn> {
  const now = deps.clock();
  if (!failureDomain) return { places: Number.POSITIVE_INFINITY, nextMs: now + nextSweepMs };
  const group = await deps.store.cleaningGroups.group(failureDomain);
  return {
    places: placesLeft(group, hostname, now),
    nextMs: Math.max(pausedUntilMs(group, now), now + nextSweepMs),
  };
}

/** Takes a place for each release; false if there are too few. */
export async function takeTurn(
  deps: ConsumerDeps,
  { hostname, failureDomain }: StoredHost,
  releases: readonly HostRelease[],
): Promise<boolean> {
  if (!failureDomain) return true;
  return await changeGroup(deps, failureDomain, (group) => {
    const isFull = releases.length > placesLeft(group, hostname, deps.clock());
    if (isFull) return { group, result: false };
    const started = startCleanings(group, releases, deps.clock());
    return { group: started, result: true };
  });
}

/**
 * Gives back the place of a release whose job has ended. The failure of an attempt counts against
 * the group, and any success ends its pause.
 */
export async function endTurn(
  deps: ConsumerDeps,
  { failureDomain }: StoredHost,
  release: HostRelease,
  event?: EndOfJob,
): Promise<void> {
  // A first attempt takes no place, and is expected to succeed.
  if (!failureDomain || release.leftAt === undefined) return;
  const outcome = event && outcomeOf(deps, release, event);
  const isOpened = await changeGroup(deps, failureDomain, (before) => {
    const group = endCleaning(before, release.id, outcome, deps.clock());
    const failures = pausingFailures(group, deps.clock());
    const wasOpen = pausingFailures(before, deps.clock()).length > 0;
    return { group, result: failures.length > 0 && !wasOpen };
  });
  if (!isOpened) return;
  deps.log.error('Cleanings paused', {
    failure_domain: failureDomain,
    host: release.hostname,
    reason: event && failureReason(event),
  });
}

function outcomeOf(deps: ConsumerDeps, release: HostRelease, event: EndOfJob) {
  if (event.operation === 'succeeded') return 'succeeded';
  const isOfRequest = event.operation !== 'failed' || event.statusDetails?.fault === 'request';
  // The cause of a stopped cleaning is its own device's, as is that of an operator's attempt.
  const isOfDevice = release.retries === undefined || isStopped(release, deps.clock());
  if (isOfRequest || isOfDevice) return undefined;
  return { hostname: release.hostname, at: timeNow(deps), reason: failureReason(event) };
}

/** Writes the group, unless the change leaves it as it is. */
function changeGroup<Result>(
  deps: ConsumerDeps,
  failureDomain: string,
  change: (group: CleaningGroup) => { readonly group: CleaningGroup; readonly result: Result },
): Promise<Result> {
  return untilWritten(
    'quotas',
    async () => {
      const before = await deps.store.cleaningGroups.group(failureDomain);
      const { group, result } = change(before);
      if (group === before) return result;
      const isWritten = await deps.store.cleaningGroups.put(group, deps.clock());
      return isWritten ? result : contended;
    },
    `Cleanings of failure domain ${failureDomain} were not counted`,
  );
}
