// The turns of hosts that share a failure domain: each attempt to clean handles in quarantine
// takes a place in the group of its host before its job is created, and gives it back at the end.

import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import { isLost } from '#core/domain/host/presence.ts';
import {
  type CleaningGroup,
  endCleaning,
  hasPlace,
  pausedUntilMs,
  pausingFailures,
  placesLeft,
  startCleanings,
} from '#core/domain/host-work/cleaning-groups.ts';
import { isStopped } from '#core/domain/host-work/deadlines.ts';
import type { AwaitedWork, HostRelease } from '#core/domain/host-work/host-work.ts';
import { contended, untilWritten } from '#core/operations/optimistic-writes.ts';
import { timeNow } from '../time-now.ts';
import { type EndOfJob, failureReason } from './end-of-job.ts';

/** A host that is away is asked again when it is back. */
const awayMs = 5 * 60_000;
/** Before the next run of the sweep takes its time, which is a minute after that of this one. */
export const nextSweepMs = 30_000;

/** A pause that a success ends is noticed within this time. */
const askAgainMs = 10 * 60_000;

interface Turn {
  /** How many releases may start now. */
  readonly places: number;
  /** When to ask again, if none may; ISO 8601. */
  readonly nextAt: string;
  /** Whether its job may have ended unnoticed: AWS IoT is asked although none may start. */
  readonly mayHaveEnded: boolean;
}

/** A host without a failure domain waits for no other. */
export async function readTurn(
  deps: ConsumerDeps,
  host: StoredHost,
  work: AwaitedWork,
): Promise<Turn> {
  const { hostname, failureDomain } = host;
  const [now, nextAt] = [deps.clock(), timeNow(deps, nextSweepMs)];
  if (!failureDomain) return { places: Number.POSITIVE_INFINITY, nextAt, mayHaveEnded: false };
  // Its job would wait without a place, and run beside those of the other hosts when all are back.
  if (isLost(host, now)) return { places: 0, nextAt: timeNow(deps, awayMs), mayHaveEnded: false };
  const group = await deps.store.cleaningGroups.group(failureDomain);
  const pausedMs = Math.min(pausedUntilMs(group, now), now + askAgainMs);
  return {
    places: placesLeft(group, hostname, deps.settings.cleaningsAtOnce, now),
    nextAt: new Date(Math.max(pausedMs, now + nextSweepMs)).toISOString(),
    mayHaveEnded: hasPlace(group, work.id),
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
    const isFull =
      releases.length > placesLeft(group, hostname, deps.settings.cleaningsAtOnce, deps.clock());
    if (isFull) return { group, result: false };
    const started = startCleanings(group, releases, deps.clock());
    return { group: started, result: true };
  });
}

/** Gives back the place of a release whose job has ended, or was not created. */
export async function endTurn(
  deps: ConsumerDeps,
  { failureDomain }: StoredHost,
  release: HostRelease,
  event?: EndOfJob,
): Promise<void> {
  const isFirst = release.leftAt === undefined;
  // A first attempt has no place, and its failure may be its instance's.
  if (!failureDomain || (isFirst && event?.operation !== 'succeeded')) return;
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
  const isFailure = event.operation === 'failed' || event.operation === 'timed_out';
  const isOfRequest = event.statusDetails?.fault === 'request';
  // The cause of a cleaning that is stopped is in its own device.
  if (!isFailure || isOfRequest || isStopped(release, deps.clock())) return undefined;
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
