// Alarms and dashboard use the metrics that functions publish: the log lines themselves, as
// CloudWatch reads them, and the metric filters of the template.

import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { type MetricRow, metrics } from '#core/contracts/metrics.ts';
import { createMetrics } from '#core/metrics.ts';
import { stage, synthesize } from '#infra/privileges/synthesized.ts';

/**
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
 */
const reference = z.string().min(1).max(250);
const directive = z.strictObject({
  Namespace: z.string().regex(/^[\w./#:-]{1,255}$/),
  Dimensions: z.array(z.array(reference).max(30)).min(1),
  Metrics: z
    .array(z.strictObject({ Name: reference, Unit: z.enum(['Count', 'Milliseconds']) }))
    .min(1)
    .max(100),
});
const line = z.looseObject({
  _aws: z.strictObject({
    Timestamp: z.int().positive(),
    CloudWatchMetrics: z.array(directive).length(1),
  }),
});
const dimensionValue = z.string().regex(/^[\x20-\x7e]{1,1024}$/);

/** Namespace, name, dimensions in order. */
type Named = readonly [namespace: string, name: string, dimensions: Record<string, string>];
const keyOf = ([namespace, name, dimensions]: Named) =>
  JSON.stringify([namespace, name, Object.entries(dimensions).sort()]);

const stack = synthesize();
const published = new Map<string, string>();

beforeAll(() => {
  const written: string[] = [];
  vi.stubEnv('POWERTOOLS_METRICS_DISABLED', 'false');
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  for (const { name, dimension } of metrics as readonly (MetricRow & (typeof metrics)[number])[]) {
    for (const of of dimension?.values ?? [undefined]) {
      createMetrics(stage).put([{ name, value: 1, ...(of && { dimension: of }) }]);
    }
  }
  vi.restoreAllMocks();
  for (const text of written) {
    const parsed = line.parse(JSON.parse(text));
    for (const { Namespace, Dimensions, Metrics } of parsed._aws.CloudWatchMetrics) {
      for (const { Name, Unit } of Metrics) {
        expect(parsed[Name]).toBe(1);
        for (const set of Dimensions) {
          const values = set.map((name) => [name, dimensionValue.parse(parsed[name])] as const);
          published.set(keyOf([Namespace, Name, Object.fromEntries(values)]), Unit);
        }
      }
    }
  }
});
afterAll(() => vi.unstubAllEnvs());

interface Watched {
  readonly Namespace?: string;
  readonly MetricName?: string;
  readonly Dimensions?: readonly { readonly Name: string; readonly Value: string }[];
}

function watchedByAlarms(): Named[] {
  return stack
    .ofType('AWS::CloudWatch::Alarm')
    .flatMap(({ properties }) => properties.Metrics ?? [properties])
    .map((each): Watched => each.MetricStat?.Metric ?? each)
    .flatMap(({ Namespace = '', MetricName = '', Dimensions = [] }) => {
      const dimensions = Dimensions.map(({ Name, Value }) => [Name, Value]);
      return Namespace === 'Cyborg'
        ? [[Namespace, MetricName, Object.fromEntries(dimensions)] as const]
        : [];
    });
}

/** A dashboard names a metric as [namespace, name, dimension, value, …, how]. */
function shownOnDashboard(): Named[] {
  const [dashboard] = stack.ofType('AWS::CloudWatch::Dashboard');
  const { widgets } = JSON.parse(dashboard?.properties.DashboardBody) as {
    widgets: { properties: { metrics?: unknown[][] } }[];
  };
  return widgets
    .flatMap(({ properties }) => properties.metrics ?? [])
    .filter(([namespace]) => namespace === 'Cyborg')
    .map((parts) => {
      const [namespace = '', name = '', ...rest] = parts.filter((part) => typeof part === 'string');
      const pairs = rest.flatMap((each, at) => (at % 2 === 0 ? [[each, rest[at + 1]]] : []));
      return [namespace, name, Object.fromEntries(pairs)] as const;
    });
}

describe('the metric of the access log', () => {
  const [served] = stack.ofType('AWS::ApiGatewayV2::Stage');
  const [filter, ...others] = stack.ofType('AWS::Logs::MetricFilter');
  const { FilterPattern, MetricTransformations, LogGroupName } = filter?.properties ?? {};
  const [transformation] = MetricTransformations;

  /** The line that API Gateway writes: the format with values in place of its variables. */
  function lineOf(status: number): Record<string, string> {
    const { Format } = served?.properties.AccessLogSettings ?? {};
    const text = Format.replaceAll('$context.status', `${status}`);
    return z.record(z.string(), z.string()).parse(JSON.parse(text));
  }

  /** Matches the pattern of our filter only: `{ $.field = "text" }`. */
  function isCounted(entry: Record<string, string>): boolean {
    const [, field = '', text] = /^\{ \$\.(\w+) = "(.*)" \}$/.exec(FilterPattern) ?? [];
    return entry[field] === text;
  }

  it('counts each answer of 401, and no other', () => {
    expect(others).toEqual([]);
    expect([200, 400, 401, 403, 404, 503].filter((status) => isCounted(lineOf(status)))).toEqual([
      401,
    ]);
    expect(transformation).toMatchObject({ MetricValue: '1' });
    expect(served?.properties.AccessLogSettings.DestinationArn).toContain(LogGroupName);
  });

  it('is watched by the alarm, by the fields of the line', () => {
    const [alarm] = stack
      .ofType('AWS::CloudWatch::Alarm')
      .filter(({ properties }) => properties.AlarmName === `${stage}-unauthorized`);
    const { Namespace, MetricName, Dimensions } = alarm?.properties ?? {};
    const { MetricNamespace, MetricName: counted, Dimensions: fields } = transformation;
    expect([Namespace, MetricName]).toEqual([MetricNamespace, counted]);
    const entry = lineOf(401);
    expect(Dimensions).toEqual(
      fields.map(({ Key, Value }: { Key: string; Value: string }) => ({
        Name: Key,
        Value: entry[Value.replace('$.', '')],
      })),
    );
  });
});

describe('the metrics of functions', () => {
  it('have the units of the table', () => {
    for (const { name, unit } of metrics) {
      const units = [...published].filter(([key]) => key.includes(`"${name}"`));
      expect(units.length, name).toBeGreaterThan(0);
      for (const [, its] of units) expect(its).toBe(unit);
    }
  });

  it('are the metrics of the alarms', () => {
    const watched = watchedByAlarms();
    expect(watched.length).toBeGreaterThan(10);
    for (const each of watched) expect([...published.keys()]).toContain(keyOf(each));
  });

  it('are all shown on the dashboard but one', () => {
    const shown = new Set(shownOnDashboard().map(keyOf));
    for (const each of shown) expect([...published.keys()]).toContain(each);
    const unseen = [...published.keys()].filter((key) => !shown.has(key));
    // A reprovision takes as long as its job waits, and would dwarf binds in a graph.
    expect(unseen).toEqual([
      keyOf(['Cyborg', 'BindLatency', { service: 'cyborg', stage, kind: 'after-boot' }]),
    ]);
  });

  it('are counted somewhere', () => {
    const folder = new URL('../../core/operations/', import.meta.url);
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    const sources = names.filter((name) => name.endsWith('.ts'));
    const text = sources.map((name) => readFileSync(new URL(name, folder), 'utf8'));
    for (const { name } of metrics) expect(text.join('')).toContain(`'${name}'`);
  });
});
