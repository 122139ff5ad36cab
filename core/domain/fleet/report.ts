// What the fleet had on a day, by model and project: means over the rounds of measurement that
// ended on it. Pure.

import type { Sample } from '#core/shapes/fleet.ts';
import type { OpenMetric } from './open-metrics.ts';
import { boundSeries, sumSamples } from './samples.ts';

/** Counts the rounds of a day; no reader of metrics is shown it. */
const rounds = 'rounds';

const kept: readonly (OpenMetric | typeof rounds)[] = [
  'cyborg_devices',
  'cyborg_handles',
  'cyborg_project_handles',
  rounds,
];

export interface ReportRow {
  readonly day: string;
  readonly model: string;
  /** Absent: the row counts all projects. */
  readonly projectId?: string;
  readonly devices?: number;
  readonly healthy?: number;
  readonly handles?: number;
  readonly reserved?: number;
  readonly inUse: number;
}

/** The sums of a day with those of one more round. */
export function addRound(day: readonly Sample[], round: readonly Sample[]): Sample[] {
  const more = [...round, { metric: rounds, labels: [], value: 1 }];
  const sums = sumSamples(day, more);
  return boundSeries(sums.filter(({ metric }) => kept.some((name) => name === metric)));
}

/** @param sums of {@link addRound} */
export function reportDay(day: string, sums: readonly Sample[]): ReportRow[] {
  const count = sums.find(({ metric }) => metric === rounds)?.value ?? 1;
  const of = (metric: OpenMetric) => sums.filter((each) => each.metric === metric);
  const mean = (samples: readonly Sample[], holds: (labels: readonly string[]) => boolean) => {
    const sum = samples.reduce((all, { labels, value }) => all + (holds(labels) ? value : 0), 0);
    return Math.round((sum / count) * 1000) / 1000;
  };
  const [devices, handles, ofProjects] = [
    of('cyborg_devices'),
    of('cyborg_handles'),
    of('cyborg_project_handles'),
  ];
  const models = new Set([...devices, ...handles].map(({ labels: [, model = ''] }) => model));
  const byModel = [...models].sort().map((model) => ({
    day,
    model,
    devices: mean(devices, (labels) => labels[1] === model),
    healthy: mean(devices, (labels) => labels[1] === model && labels[2] !== 'unhealthy'),
    handles: mean(handles, (labels) => labels[1] === model),
    reserved: mean(handles, (labels) => labels[1] === model && isReserved(labels[2])),
    inUse: mean(handles, (labels) => labels[1] === model && labels[2] === 'claimed'),
  }));
  const byProject = Map.groupBy(ofProjects, ({ labels: [project, , model] }) =>
    JSON.stringify([model, project]),
  );
  const projects = [...byProject].sort(([one], [other]) => (one < other ? -1 : 1));
  return [
    ...byModel,
    ...projects.map(([key, samples]) => {
      const [model, projectId] = JSON.parse(key) as [string, string];
      return { day, model, projectId, inUse: mean(samples, () => true) };
    }),
  ];
}

/** Neither held by a server nor free for one. */
function isReserved(use: string | undefined): boolean {
  return use === 'withheld' || use === 'releasing' || use === 'quarantined';
}
