// When the sweep must take what has a deadline: it comes once a minute, so what would be overdue before
// it comes again is due now.

import { backoffSeconds } from './retry-later.ts';

export const sweepSeconds = 60;

/** After how long a host is asked what became of what it makes again after a boot. */
export const provisioningDueMs = 5 * 60_000;

/**
 * After how long the ARQs of a failed bind are deleted, if no host has their server, and after how long that
 * is looked at again. Nova deletes them within minutes, unless the delete does not reach us.
 */
export const failedBindKeptMs = 30 * 60_000;

/** How long after its last failure a host is asked again to clean up: doubling, up to a quarter of an hour. */
export function cleaningRetryMs(retries: number): number {
  return backoffSeconds(retries + 1, 15) * 60_000;
}

/** After how long a bind is taken for failed, so that it is resolved within its deadline. */
export function bindDueMs(deadlineSeconds: number): number {
  return Math.max(deadlineSeconds - sweepSeconds, deadlineSeconds / 2) * 1000;
}

/** Until when an ARQ that is bound to no instance is kept; ISO 8601. */
export function unboundUntil(
  { unboundArqMinutes }: { readonly unboundArqMinutes: number },
  nowMs: number,
): string {
  return new Date(nowMs + unboundArqMinutes * 60_000).toISOString();
}
