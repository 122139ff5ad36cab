// Sums of samples: of two with the same metric and labels the values are added. Pure.

import type { Sample } from '#core/shapes/fleet.ts';
import type { OpenMetric } from './open-metrics.ts';

export function toSample(metric: OpenMetric, labels: readonly string[], value = 1): Sample {
  return { metric, labels, value };
}

/** In the order in which the metrics and labels first come. */
export function sumSamples(...lists: readonly (readonly Sample[])[]): Sample[] {
  const sums = new Map<string, Sample>();
  for (const each of lists.flat()) {
    const key = JSON.stringify([each.metric, each.labels]);
    const { value = 0 } = sums.get(key) ?? {};
    sums.set(key, { ...each, value: value + each.value });
  }
  return [...sums.values()];
}

/** Every label of the series that are counted together. */
export const others = 'others';

/** Series of a metric at most: a row has 400 KB, and hosts name the models of their devices. */
const seriesMax: Readonly<Partial<Record<OpenMetric, number>>> = {
  cyborg_devices: 200,
  cyborg_handles: 200,
  cyborg_project_handles: 500,
};

/** Labels at the end that tell others apart: an alarm counts the handles of each use. */
const lastKept: Readonly<Partial<Record<OpenMetric, number>>> = { cyborg_handles: 1 };

/** Keeps the largest series of each metric, and adds the others together as one. */
export function boundSeries(samples: readonly Sample[]): Sample[] {
  const bounds = Object.entries(seriesMax);
  return bounds.reduce<Sample[]>(
    (all, [metric, max]) => boundMetric(all, metric, max),
    [...samples],
  );
}

function boundMetric(samples: Sample[], metric: string, max: number): Sample[] {
  const series = samples.filter((each) => each.metric === metric);
  if (series.length <= max) return samples;
  const last = lastKept[metric as OpenMetric] ?? 0;
  const kept = new Set([...series].sort((one, other) => other.value - one.value).slice(0, max));
  return sumSamples(
    samples.map((each) => {
      const isKept = each.metric !== metric || kept.has(each);
      const counted = each.labels.length - last;
      const labels = each.labels.map((label, at) => (at < counted ? others : label));
      return isKept ? each : { ...each, labels };
    }),
  );
}
