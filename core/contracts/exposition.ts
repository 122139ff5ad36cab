// The text formats that Prometheus reads: OpenMetrics, and Prometheus' own for older readers.
// https://prometheus.io/docs/specs/om/open_metrics_spec/

import { histogramSum, lastBucket, type MetricFamily, type Sample } from '#core/shapes/fleet.ts';

const contentTypes = {
  openMetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
} as const;

interface Exposition {
  readonly contentType: string;
  readonly text: string;
}

/**
 * @param accept of the request: a reader that names `text/plain` and not OpenMetrics gets the
 *   older format
 */
export function expose(
  families: Readonly<Record<string, MetricFamily>>,
  samples: readonly Sample[],
  accept = '',
): Exposition {
  const isOpen = accept.includes('application/openmetrics-text') || !accept.includes('text/plain');
  const byFamily = Map.groupBy(samples, ({ metric }) => metric);
  const blocks = Object.entries(families).map(([name, family]) => {
    const shown = byFamily.get(name) ?? [];
    // OpenMetrics names the family, and the older format the sample.
    const title = family.type === 'counter' && !isOpen ? `${name}_total` : name;
    return [
      `# HELP ${title} ${escaped(family.help)}`,
      `# TYPE ${title} ${family.type}`,
      ...shown.flatMap((each) => linesOf(name, family, each)),
    ];
  });
  return {
    contentType: isOpen ? contentTypes.openMetrics : contentTypes.prometheus,
    text: `${[...blocks.flat(), ...(isOpen ? ['# EOF'] : [])].join('\n')}\n`,
  };
}

function linesOf(name: string, { type, labels }: MetricFamily, { labels: values, value }: Sample) {
  switch (type) {
    case 'gauge':
      return [`${name}${labelText(labels, values)} ${value}`];
    case 'counter':
      return [`${name}_total${labelText(labels, values)} ${value}`];
    case 'histogram': {
      const [bucket = ''] = values;
      if (bucket === histogramSum) return [`${name}_sum ${value}`];
      const line = `${name}_bucket${labelText(['le'], values)} ${value}`;
      return bucket === lastBucket ? [line, `${name}_count ${value}`] : [line];
    }
  }
}

function labelText(labels: readonly string[], values: readonly string[]): string {
  if (labels.length === 0) return '';
  return `{${labels.map((label, index) => `${label}="${escaped(values[index] ?? '')}"`).join(',')}}`;
}

/** Owners choose names: a quote or a line break in one must not begin another sample. */
function escaped(text: string): string {
  return text.replace(/[\\"\n]/g, (each) => (each === '\n' ? '\\n' : `\\${each}`));
}
