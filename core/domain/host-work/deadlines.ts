// When the sweep must take what has a deadline. The sweep runs once a minute, so an item is due if
// it would expire before the next run.

import { type Group, wantedImage } from '#core/domain/profile/device-profile.ts';
import { backoffSeconds } from '#core/domain/retry-later.ts';
import {
  type AwaitedWork,
  type ExpiringWorkKind,
  type HostRelease,
  hostWork,
  leftAtOf,
} from './host-work.ts';

export const sweepSeconds = 60;

/** Nova's `arq_binding_timeout`: nova-compute waits for the event of a bind no longer. */
export const novaWaitsSeconds = 300;
/** The last notification must reach nova-compute while it waits. */
export const lastNotificationSeconds = novaWaitsSeconds - 10;
/** The default of a bind's deadline. */
export const bindDeadlineSeconds = 240;

/**
 * How long after a bind failed its ARQs are deleted if no host has the server, and how long until
 * the sweep looks again. Nova deletes the ARQs within minutes, unless the delete does not reach
 * the API.
 */
export const failedBindKeptMs = 30 * 60_000;

/** Retries that fail in a row, in two hours or more, after which a cleaning is stopped. */
const cleaningRetriesMax = 12;
const [hourMs, dayMs] = [60 * 60_000, 24 * 60 * 60_000];
const stoppedAfterMs = 2 * hourMs;

type Retried = Pick<AwaitedWork, 'retries' | 'leftAt' | 'startedAt'>;

/**
 * How long after its last failure a host is asked again to clean up: doubling, up to a quarter of
 * an hour, and a day for one that is stopped.
 */
export function cleaningRetryMs(work: Retried, nowMs: number): number {
  return isStopped(work, nowMs) ? dayMs : backoffSeconds((work.retries ?? 0) + 1, 15) * 60_000;
}

/**
 * Whether a cleaning is not worth more attempts: each resets a card, beside others that servers
 * use.
 */
export function isStopped(work: Retried, nowMs: number): boolean {
  const { retries = 0 } = work;
  return retries >= cleaningRetriesMax && nowMs - Date.parse(leftAtOf(work)) >= stoppedAfterMs;
}

/** Whether a job that the host has done may bring the next attempt forward. */
export function mayComeSooner(work: AwaitedWork, nowMs: number): boolean {
  if (work.retryAt === undefined) return false;
  return !isStopped(work, nowMs) || nowMs >= Date.parse(work.retryAt) - dayMs + hourMs;
}

/** How long a host has to answer a message that asks for a check. */
const checkedWithinMs = 20_000;

interface BindDeadline {
  readonly bindDeadlineSeconds: number;
}

/**
 * How long after its start host work is due. A bind is due so early that it resolves within its
 * deadline.
 */
export function workDueMs(kind: ExpiringWorkKind, settings: BindDeadline): number {
  const { deadlineSeconds } = hostWork[kind];
  if (deadlineSeconds !== 'bindDeadlineSeconds') return deadlineSeconds * 1000;
  const seconds = settings[deadlineSeconds];
  return Math.max(seconds - sweepSeconds, seconds / 2) * 1000;
}

/** When host work that starts now is due; ISO 8601. */
export function workDueAt(kind: ExpiringWorkKind, settings: BindDeadline, nowMs: number): string {
  return new Date(nowMs + workDueMs(kind, settings)).toISOString();
}

/**
 * When the sweep first looks at a bind that has started. A host that only checks what a region
 * holds is asked by a message, which can be lost: the sweep then has its job created. ISO 8601.
 */
export function bindDueAt(
  groups: readonly Group[],
  settings: BindDeadline,
  startedMs: number,
  nowMs: number,
): string {
  const deadlineMs = startedMs + workDueMs('bind', settings);
  const mayBeMessage = groups.some((group) => wantedImage(group) !== undefined);
  const dueMs = mayBeMessage ? Math.min(nowMs + checkedWithinMs, deadlineMs) : deadlineMs;
  return new Date(dueMs).toISOString();
}

/** When a release that starts now is due: its driver may need longer than others; ISO 8601. */
export function releaseDueAt(
  { cleanSeconds = 0 }: Pick<HostRelease, 'cleanSeconds'>,
  settings: BindDeadline,
  nowMs: number,
): string {
  const ms = Math.max(workDueMs('release', settings), cleanSeconds * 1000);
  return new Date(nowMs + ms).toISOString();
}

/**
 * How long a host may take for a component: a quarter of an hour for its image, and three for
 * cards that write their flash.
 */
export const componentMinutes = 75;

/** When the program of a component that starts now is due; ISO 8601. */
export function componentDueAt(nowMs: number): string {
  return new Date(nowMs + componentMinutes * 60_000).toISOString();
}

/** Until when an ARQ that is bound to no instance is kept; ISO 8601. */
export function unboundUntil(
  { unboundArqMinutes }: { readonly unboundArqMinutes: number },
  nowMs: number,
): string {
  return new Date(nowMs + unboundArqMinutes * 60_000).toISOString();
}
