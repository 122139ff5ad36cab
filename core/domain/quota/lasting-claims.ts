// Claims that last, as the sweep has read them host by host, for the usage of a large cloud. What
// has changed since is in the history. Pure.

import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import type { HistoryRecord } from '#core/domain/history/history.ts';
import { type Assignment, assignmentKey } from './usage.ts';

/** A claim of a handle; the claim of another instance has another time. */
export interface LastingClaim {
  readonly handleUuid: string;
  /** ISO 8601. */
  readonly since: string;
  readonly projectId: string;
  readonly resourceClass: string;
}

export interface HostClaims {
  readonly hostname: string;
  readonly claims: readonly LastingClaim[];
}

/** Without claims of which it is unknown whose they are, or of what. */
export function claimsOf(providers: readonly StoredProvider[]): LastingClaim[] {
  return providers
    .flatMap(({ handles }) => handles)
    .flatMap(({ uuid, claim }) => {
      const { at: since, projectId, resourceClass } = claim?.facts ?? {};
      return since && projectId && resourceClass
        ? [{ handleUuid: uuid, since, projectId, resourceClass }]
        : [];
    });
}

/**
 * The claims that last now, by the keys of their assignments.
 *
 * @param changes records of claims and releases since the hosts were measured, and some before
 */
export function lastingNow(
  hosts: readonly HostClaims[],
  changes: readonly HistoryRecord[],
  nowMs: number,
): Map<string, Assignment> {
  const claimed = changes.flatMap(({ kind, at: since, handleUuid, projectId, resourceClass }) =>
    kind === 'handle.claimed' && handleUuid && projectId && resourceClass
      ? [{ handleUuid, since, projectId, resourceClass }]
      : [],
  );
  const lasting = new Map(
    [...hosts.flatMap(({ claims }) => claims), ...claimed].map((claim) => {
      const { handleUuid, since, projectId, resourceClass } = claim;
      const span = { fromMs: Date.parse(since), toMs: nowMs };
      return [assignmentKey(handleUuid, since), { projectId, resourceClass, ...span }] as const;
    }),
  );
  for (const { kind, handleUuid, since } of changes) {
    if (kind === 'handle.released') lasting.delete(assignmentKey(handleUuid, since));
  }
  return lasting;
}
