// The state of a host, as operators see it.

import type { Shaped } from '#core/shapes/derive/case.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { drain } from '#core/shapes/host.ts';
import type { StoredHost } from './host.ts';
import type { HostSummary } from './host-summary.ts';
import { heardAt, isLost } from './presence.ts';

export const hostStates = ['online', 'drained', 'away', 'conflict', 'never-reported'] as const;
export type HostState = (typeof hostStates)[number];

/** Those that the metrics show: a host's summary does not have its drain. */
export const shownStates = hostStates.filter((state) => state !== 'drained');

interface StateOfHost {
  readonly state: HostState;
  /** ISO 8601; undefined where it is not known. */
  readonly since?: string;
}

export type Drain = Shaped<typeof drain>;

/** @param firstSeen when its agent first connected or reported */
export function deriveHostState(
  host: StoredHost,
  { firstSeen }: Partial<Pick<HostSummary, 'firstSeen'>>,
  nowMs: number,
): StateOfHost {
  if (host.conflict) return stateSince('conflict', host.conflict.since);
  if (host.bootId === undefined) return stateSince('never-reported', firstSeen);
  if (isLost(host, nowMs)) return stateSince('away', heardAt(host));
  if (host.drain) return stateSince('drained', host.drain.at);
  const { presence, bootedAt } = host;
  return stateSince('online', presence?.isConnected ? presence.at : bootedAt);
}

/** Whether its agent gets jobs and messages. */
export function isReachable(state: HostState): boolean {
  return state === 'online' || state === 'drained';
}

/** Why no server starts on a host in that state; undefined where one may. */
export function stoppedBy(state: HostState): 'host-conflict' | 'host-away' | undefined {
  const reasons = { conflict: 'host-conflict', away: 'host-away' } as const;
  return state === 'conflict' || state === 'away' ? reasons[state] : undefined;
}

/** Whether the drain was to end before now. It lasts: the operator's work may last, too. */
export function isOverdue({ until }: Pick<Drain, 'until'>, nowMs: number): boolean {
  return until !== undefined && Date.parse(until) <= nowMs;
}

function stateSince(state: HostState, since: string | undefined): StateOfHost {
  return { state, ...present({ since }) };
}
