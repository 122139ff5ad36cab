// Writes metrics to the log, from which CloudWatch extracts them (embedded metric format).
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html

import { Metrics as Powertools } from '@aws-lambda-powertools/metrics';
import {
  type MetricName,
  type MetricRow,
  type MetricValue,
  metricNamespace,
  metricService,
  metrics,
} from './contracts/metrics.ts';

export interface Metrics {
  /** @param at the time of the values, if not now; milliseconds since 1970 */
  put(values: readonly MetricValue[], at?: number): void;
}

export function createMetrics(stage: string): Metrics {
  const lines = new Powertools({
    namespace: metricNamespace,
    serviceName: metricService,
    defaultDimensions: { stage },
  });
  return {
    put(values, at) {
      // A line has one set of dimensions.
      for (const together of Map.groupBy(values, dimensionKey).values()) {
        const [first] = together;
        const dimension = first && rows.get(first.name)?.dimension?.name;
        if (dimension && first.dimension) lines.addDimension(dimension, first.dimension);
        for (const { name, value } of together) {
          lines.addMetric(name, rows.get(name)?.unit ?? 'Count', value);
        }
        if (at !== undefined) lines.setTimestamp(at);
        lines.publishStoredMetrics();
      }
    },
  };
}

const rows = new Map<MetricName, MetricRow>(metrics.map((row) => [row.name, row]));

function dimensionKey({ name, dimension }: MetricValue): string {
  return `${rows.get(name)?.dimension?.name} ${dimension}`;
}

/** Counts nothing; for tests and tools. */
export const noMetrics: Metrics = { put: () => {} };
