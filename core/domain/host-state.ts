// The state of a host, as operators see it.

import type { HostSummary } from './host-summary.ts';
import { heardAt, isLost } from './presence.ts';
import type { StoredHost } from './report-plan.ts';

export const hostStates = ['online', 'away', 'conflict', 'never-reported'] as const;
export type HostState = (typeof hostStates)[number];

export interface StateOfHost {
  readonly state: HostState;
  /** ISO 8601; undefined where it is not known. */
  readonly since?: string;
}

/** @param firstSeen when its agent first connected or reported */
export function hostStateOf(
  host: StoredHost,
  { firstSeen }: Partial<Pick<HostSummary, 'firstSeen'>>,
  nowMs: number,
): StateOfHost {
  if (host.conflict) return stateSince('conflict', host.conflict.since);
  if (host.bootId === undefined) return stateSince('never-reported', firstSeen);
  const { presence, bootedAt } = host;
  if (!isLost(host, nowMs)) {
    return stateSince('online', presence?.isConnected ? presence.at : bootedAt);
  }
  return stateSince('away', heardAt(host));
}

function stateSince(state: HostState, since: string | undefined): StateOfHost {
  return { state, ...(since && { since }) };
}
