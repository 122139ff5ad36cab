// Hosts of one failure domain, such as a rack, clean again in turn: each attempt resets a card.
// After attempts of several hosts failed, what they share is the likely cause, and none of them is
// asked for an hour; then one at a time, until an attempt succeeds. Pure.

import type { Shaped } from '#core/shapes/derive/case.ts';
import type { cleaningGroup } from '#core/shapes/host-work.ts';
import { type HostRelease, hostWork } from './host-work.ts';

export type CleaningGroup = Shaped<typeof cleaningGroup>;
type FailedCleaning = CleaningGroup['failures'][number];

/** Hosts whose last attempts failed, with no success of another between them. */
const failedHostsMax = 3;
const pauseMs = 60 * 60_000;
/** An attempt follows each pause, so a failure that is older has none after it. */
const forgottenMs = 2 * pauseMs;
/** A job that takes longer erases a disk, which disturbs no other device. */
const placeMsMax = 60 * 60_000;
/** Hosts that the incident can name. */
const failuresKept = 16;

export const newGroup = (failureDomain: string): CleaningGroup => ({
  failureDomain,
  running: [],
  failures: [],
  revision: 0,
});

/**
 * How many jobs of the host may start now. A host says itself in which failure domain it is, so
 * that one host gets half of the places.
 *
 * @param atOnce how many may run at once on all hosts of the group
 */
export function placesLeft(
  group: CleaningGroup,
  hostname: string,
  atOnce: number,
  nowMs: number,
): number {
  const { running } = withoutPast(group, nowMs);
  const [newest] = pausingFailures(group, nowMs);
  // The next attempt is another host's: one host cannot hold up the others again and again.
  if (newest) {
    const waits = isPaused(group, nowMs) || newest.hostname === hostname;
    return waits ? 0 : Math.max(0, 1 - running.length);
  }
  const ofHost = running.filter((each) => each.hostname === hostname).length;
  return Math.max(0, Math.min(atOnce - running.length, Math.ceil(atOnce / 2) - ofHost));
}

/** An end that is lost, or that of a job that was given up, keeps its place until then. */
function endsAt({ cleanSeconds = 0 }: HostRelease, nowMs: number): string {
  const seconds = Math.max(hostWork.release.inProgressMinutes * 60, cleanSeconds);
  return new Date(nowMs + Math.min(seconds * 1000, placeMsMax)).toISOString();
}

/** @param releases whose jobs start */
export function startCleanings(
  group: CleaningGroup,
  releases: readonly HostRelease[],
  nowMs: number,
): CleaningGroup {
  const current = withoutPast(group, nowMs);
  const started = releases.map((release) => ({
    id: release.id,
    hostname: release.hostname,
    until: endsAt(release, nowMs),
  }));
  return { ...current, running: [...current.running, ...started] };
}

/**
 * @param outcome a failure of its host, which counts once and only if the release has a place; a
 *   success of any release; undefined where the end shows neither
 */
export function endCleaning(
  group: CleaningGroup,
  id: string,
  outcome: FailedCleaning | 'succeeded' | undefined,
  nowMs: number,
): CleaningGroup {
  const current = withoutPast(group, nowMs);
  const running = current.running.filter((each) => each.id !== id);
  if (outcome === 'succeeded') {
    const isIdle = group.failures.length === 0 && !hasPlace(group, id);
    return isIdle ? group : { ...current, running, failures: [] };
  }
  if (!hasPlace(group, id)) return group;
  if (outcome === undefined) return { ...current, running };
  const others = current.failures.filter(({ hostname }) => hostname !== outcome.hostname);
  return { ...current, running, failures: [outcome, ...others].slice(0, failuresKept) };
}

export function hasPlace({ running }: CleaningGroup, id: string): boolean {
  return running.some((each) => each.id === id);
}

/** The failures that pause the group, the newest first; none while it is not paused. */
export function pausingFailures(group: CleaningGroup, nowMs: number): readonly FailedCleaning[] {
  const { failures } = withoutPast(group, nowMs);
  return failures.length < failedHostsMax ? [] : failures;
}

export function pausedUntilMs(group: CleaningGroup, nowMs: number): number {
  const [newest] = pausingFailures(group, nowMs);
  return newest ? Date.parse(newest.at) + pauseMs : 0;
}

function isPaused(group: CleaningGroup, nowMs: number): boolean {
  return pausedUntilMs(group, nowMs) > nowMs;
}

/** Failures that pause the group stay for as long as the newest of them does. */
function withoutPast(group: CleaningGroup, nowMs: number): CleaningGroup {
  const isRecent = ({ at }: FailedCleaning) => nowMs - Date.parse(at) < forgottenMs;
  const [newest] = group.failures;
  const isPausing = newest && isRecent(newest) && group.failures.length >= failedHostsMax;
  return {
    ...group,
    running: group.running.filter(({ until }) => Date.parse(until) > nowMs),
    failures: isPausing ? group.failures : group.failures.filter(isRecent),
  };
}
