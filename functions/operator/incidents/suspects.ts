import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { areMarksComplete } from '#core/domain/history/incident-marks.ts';

/** Lists of the hosts and devices that may have an incident. */
export type Suspects = Pick<ConsumerDeps['listings'], 'hostsAfter' | 'devicesAfter'>;

export interface IncidentDeps extends ConsumerDeps {
  /** Without them, all hosts and devices are read. */
  readonly suspects?: Suspects;
}

export function hostsAfter(
  { suspects, listings }: IncidentDeps,
  after: string | undefined,
  count: number,
) {
  return (suspects ?? listings).hostsAfter(after, count);
}

export function devicesAfter({ suspects, listings }: IncidentDeps, after = '0', count: number) {
  return (suspects ?? listings).devicesAfter(after, count);
}

/**
 * Those that are marked. Undefined until the sweep has completed the marks, and where it has not
 * run for hours: then any of them may have an incident.
 */
export async function findSuspects({
  store: { incidentMarks },
  clock,
}: ConsumerDeps): Promise<Suspects | undefined> {
  if (!areMarksComplete(await incidentMarks.rounds(), clock())) return undefined;
  return {
    hostsAfter: (after, limit) => incidentMarks.markedHosts(after, limit),
    devicesAfter: (after, limit) => incidentMarks.markedDevices(after, limit),
  };
}
