// What all hosts' summaries and a range of the history add to the metrics of the fleet. Pure.

import type { BindCount } from '#core/domain/history/bind-counts.ts';
import type { HistoryRecord } from '#core/domain/history/history.ts';
import {
  type IncidentKind,
  lostProvidersIncident,
  skewIncident,
} from '#core/domain/history/incidents.ts';
import { type HostState, shownStates } from '#core/domain/host/host-state.ts';
import type { HostSummary } from '#core/domain/host/host-summary.ts';
import { histogramSum, lastBucket, type Sample } from '#core/shapes/fleet.ts';
import { preparationBuckets } from './open-metrics.ts';
import { sumSamples, toSample } from './samples.ts';

/** @param states of the hosts that no connected agent stands for */
export function measureHosts(
  summaries: readonly HostSummary[],
  states: ReadonlyMap<string, HostState>,
): Sample[] {
  const measured = summaries.flatMap((summary) => {
    const { hostname, conflictSince, clockAheadSeconds } = summary;
    // A drained host counts as online here: its summary does not have the drain.
    const state = conflictSince ? 'conflict' : (states.get(hostname) ?? 'online');
    const shown = state === 'drained' ? 'online' : state;
    const kinds = [
      ...(shown === 'conflict' ? ['conflict'] : []),
      ...(shown === 'away' ? ['host-away'] : []),
      skewIncident(hostname, clockAheadSeconds)?.kind,
      lostProvidersIncident(summary)?.kind,
    ];
    return [
      toSample('cyborg_hosts', [shown]),
      ...kinds.flatMap((kind) => (kind ? [toSample('cyborg_incidents', [kind])] : [])),
    ];
  });
  const none = [
    ...shownStates.map((state) => toSample('cyborg_hosts', [state], 0)),
    ...minuteKinds.map((kind) => toSample('cyborg_incidents', [kind], 0)),
  ];
  return sumSamples(none, measured);
}

const minuteKinds: readonly IncidentKind[] = [
  'conflict',
  'host-away',
  'clock-skew',
  'lost-providers',
];

/** Whether the summary alone does not say the state of the host. */
export function needsHostRow({ presence, bootId, conflictSince }: HostSummary): boolean {
  return conflictSince === undefined && !(presence?.isConnected && bootId !== undefined);
}

/**
 * @param counts of a range
 * @param prepared `bind.bound` of that range
 */
export function measureBinds(
  { bound, failed }: Pick<BindCount, 'bound' | 'failed'>,
  prepared: readonly Pick<HistoryRecord, 'from' | 'at' | 'since'>[],
): Sample[] {
  const seconds = prepared.flatMap(({ from, at, since }) =>
    from === 'BindStarted' && since ? [Math.max(0, Date.parse(at) - Date.parse(since)) / 1000] : [],
  );
  const name = 'cyborg_bind_preparation_seconds';
  const bucket = (le: string, max: number) =>
    toSample(name, [le], seconds.filter((each) => each <= max).length);
  return [
    toSample('cyborg_binds', ['bound'], bound),
    toSample('cyborg_binds', ['failed'], failed),
    ...preparationBuckets.map((max) => bucket(String(max), max)),
    bucket(lastBucket, Number.POSITIVE_INFINITY),
    toSample(
      name,
      [histogramSum],
      seconds.reduce((sum, each) => sum + each, 0),
    ),
  ];
}
