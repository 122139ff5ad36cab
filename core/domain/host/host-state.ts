// The state of a host, as operators see it.

import type { Shaped } from '#core/shapes/derive/case.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { drain } from '#core/shapes/host.ts';
import type { StoredHost } from './host.ts';
import type { HostSummary } from './host-summary.ts';
import { heardAt, isLost } from './presence.ts';

export const hostStates = ['online', 'drained', 'away', 'conflict', 'never-reported'] as const;
export type HostState = (typeof hostStates)[number];

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
  const drain = activeDrain(host, nowMs);
  if (drain) return stateSince('drained', drain.at);
  const { presence, bootedAt } = host;
  return stateSince('online', presence?.isConnected ? presence.at : bootedAt);
}

/** Whether its agent gets jobs and messages. */
export function isReachable(state: HostState): boolean {
  return state === 'online' || state === 'drained';
}

/** Undefined for a host that takes new binds, or has resumed by its drain's end. */
export function activeDrain(
  { drain }: Pick<StoredHost, 'drain'>,
  nowMs: number,
): Drain | undefined {
  const hasEnded = drain?.until !== undefined && Date.parse(drain.until) <= nowMs;
  return hasEnded ? undefined : drain;
}

function stateSince(state: HostState, since: string | undefined): StateOfHost {
  return { state, ...present({ since }) };
}
