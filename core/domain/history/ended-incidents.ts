// Which records of the history end an incident. Pure.

import { graceMs } from '#core/domain/host/presence.ts';
import { endedIncidents, type HistoryPartition, type HistoryRecord } from './history.ts';

export const recordedEnds = [
  'quarantine',
  'conflict',
  'offered-twice',
  'host-away',
  'clock-skew',
  'lost-providers',
  'unhealthy-device',
  'device-not-attached',
  'awaits-power-cycle',
] as const;
export type EndedKind = (typeof recordedEnds)[number];

/** Failed binds end by time, half an hour later. */
export const endedKinds = ['failed-bind', ...recordedEnds] as const;

/** Undefined for a record that ends none. */
export function endedKind({
  kind,
  from,
  at,
  since,
}: Pick<HistoryRecord, 'kind' | 'from' | 'at' | 'since'>): EndedKind | undefined {
  switch (kind) {
    case 'host.connected':
    case 'host.forgotten':
      // Most agents reconnect before they count as away.
      return since && Date.parse(at) - Date.parse(since) > graceMs ? 'host-away' : undefined;
    case 'host.conflict-ended':
      return 'conflict';
    case 'device.offered-once':
      return 'offered-twice';
    case 'host.clock-right':
      return 'clock-skew';
    case 'host.providers-restored':
      return 'lost-providers';
    case 'device.healthy':
      return 'unhealthy-device';
    case 'device.attached':
      return 'device-not-attached';
    case 'handle.cleaned':
    case 'handle.reinstated':
      return from === 'quarantined' ? 'quarantine' : undefined;
    case 'device.programmed':
      return from === 'awaiting-power-cycle' ? 'awaits-power-cycle' : undefined;
    default:
      return undefined;
  }
}

/** The partition of ended incidents; the functions that Nova calls write no such record. */
export function partitionsOfEnd(record: HistoryRecord): HistoryPartition[] {
  return endedKind(record) ? [endedIncidents] : [];
}
