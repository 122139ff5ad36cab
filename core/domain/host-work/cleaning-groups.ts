// Hosts of one failure domain, such as a rack, clean again in turn: each attempt resets a card.
// After attempts of several hosts failed, what they share is the likely cause, and none of them is
// asked for an hour; then one at a time, until an attempt succeeds. Pure.

import type { Shaped } from '#core/shapes/derive/case.ts';
import type { cleaningGroup } from '#core/shapes/host-work.ts';
import { type HostRelease, hostWork } from './host-work.ts';

export type CleaningGroup = Shaped<typeof cleaningGroup>;
type FailedCleaning = CleaningGroup['failures'][number];

const runningMax = 8;
/** A host says itself in which failure domain it is. */
const runningPerHost = 4;
/** Hosts whose last attempts failed, with no success of another between them. */
const failedHostsMax = 3;
const pauseMs = 60 * 60_000;
/** An attempt follows each pause, so a failure that is older has none after it. */
const forgottenMs = 2 * pauseMs;
/** Hosts that the incident can name. */
const failuresKept = 16;

export const newGroup = (failureDomain: string): CleaningGroup => ({
  failureDomain,
  running: [],
  failures: [],
  revision: 0,
});

/** How many jobs of the host may start now. */
export function placesLeft(group: CleaningGroup, hostname: string, nowMs: number): number {
  const { running, failures } = withoutPast(group, nowMs);
  if (pausedUntilMs(group, nowMs) > nowMs) return 0;
  const most = failures.length < failedHostsMax ? runningMax : 1;
  const ofHost = running.filter((each) => each.hostname === hostname).length;
  return Math.max(0, Math.min(most - running.length, runningPerHost - ofHost));
}

/** AWS IoT ends a job in progress at this time, so that a lost end keeps no place for longer. */
function endsAt({ cleanSeconds = 0 }: HostRelease, nowMs: number): string {
  const seconds = Math.max(hostWork.release.inProgressMinutes * 60, cleanSeconds);
  return new Date(nowMs + seconds * 1000).toISOString();
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

/** @param outcome a failure of its host, or a success; undefined where the end shows neither */
export function endCleaning(
  group: CleaningGroup,
  id: string,
  outcome: FailedCleaning | 'succeeded' | undefined,
  nowMs: number,
): CleaningGroup {
  const current = withoutPast(group, nowMs);
  const running = current.running.filter((each) => each.id !== id);
  const isUnchanged = group.running.length === running.length && group.failures.length === 0;
  if (isUnchanged && typeof outcome !== 'object') return group;
  if (outcome === undefined) return { ...current, running };
  if (outcome === 'succeeded') return { ...current, running, failures: [] };
  const others = current.failures.filter(({ hostname }) => hostname !== outcome.hostname);
  return { ...current, running, failures: [outcome, ...others].slice(0, failuresKept) };
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

function withoutPast(group: CleaningGroup, nowMs: number): CleaningGroup {
  return {
    ...group,
    running: group.running.filter(({ until }) => Date.parse(until) > nowMs),
    failures: group.failures.filter(({ at }) => nowMs - Date.parse(at) < forgottenMs),
  };
}
