// Metrics as Prometheus has them, and the sweep's measurement of the whole fleet, as rows have it.

import * as z from 'zod';
import type { Shaped } from './derive/case.ts';
import { optionalText } from './derive/fields.ts';

/** One value of a metric. */
export const sample = z.object({
  /** A family of core/domain/fleet/open-metrics.ts. */
  metric: z.string(),
  /** In the order of the family's labels. */
  labels: z.array(z.string()),
  value: z.number(),
});

export const fleetMeasurement = z.object({
  /** Grows with each write: of two sweeps at once, one writes. */
  revision: z.int(),
  /** When it began, or until when binds are counted; ISO 8601. */
  at: z.string(),
  /** The last host that is measured; absent where all are. */
  cursor: optionalText,
  samples: z.array(sample),
});

export type Sample = Shaped<typeof sample>;

export interface MetricFamily {
  readonly type: 'gauge' | 'counter' | 'histogram';
  readonly help: string;
  readonly labels: readonly string[];
}

/** The label of a histogram's sample that is the sum of its observations. */
export const histogramSum = 'sum';
export const lastBucket = '+Inf';
