// Evaluates an alarm of the template as CloudWatch does, on the values that the system emitted:
// by namespace, name, dimensions, statistic, period, number of periods, threshold and expression.

import { runInNewContext } from 'node:vm';

/** A value that CloudWatch would have. */
export interface Sample {
  readonly namespace: string;
  readonly name: string;
  readonly dimensions: Readonly<Record<string, string>>;
  readonly value: number;
  /** Milliseconds. */
  readonly at: number;
}

interface MetricOfTemplate {
  readonly Namespace: string;
  readonly MetricName: string;
  readonly Dimensions?: readonly { readonly Name: string; readonly Value: string }[];
}

export interface AlarmOfTemplate extends Partial<MetricOfTemplate> {
  readonly Period?: number;
  readonly Statistic?: string;
  readonly ExtendedStatistic?: string;
  readonly Metrics?: readonly {
    readonly Id: string;
    readonly Expression?: string;
    readonly ReturnData?: boolean;
    readonly MetricStat?: {
      readonly Metric: MetricOfTemplate;
      readonly Period: number;
      readonly Stat: string;
    };
  }[];
  readonly Threshold: number;
  readonly EvaluationPeriods: number;
  readonly ComparisonOperator: string;
  readonly TreatMissingData: string;
}

/** One metric that an alarm watches. */
interface Watched {
  readonly id: string;
  readonly metric: MetricOfTemplate;
  readonly statistic: string;
}

export function periodMsOf(alarm: AlarmOfTemplate): number {
  const seconds =
    alarm.Period ?? alarm.Metrics?.find((each) => each.MetricStat)?.MetricStat?.Period;
  if (seconds === undefined) throw new TypeError('The alarm has no period.');
  return seconds * 1000;
}

export function watchedBy(alarm: AlarmOfTemplate): Watched[] {
  if (!alarm.Metrics) {
    const { Namespace = '', MetricName = '', Dimensions = [] } = alarm;
    const statistic = alarm.Statistic ?? alarm.ExtendedStatistic ?? '';
    return [{ id: '', metric: { Namespace, MetricName, Dimensions }, statistic }];
  }
  return alarm.Metrics.flatMap(({ Id: id, MetricStat }) =>
    MetricStat ? [{ id, metric: MetricStat.Metric, statistic: MetricStat.Stat }] : [],
  );
}

export function stateOf(
  alarm: AlarmOfTemplate,
  samples: readonly Sample[],
  now: number,
): 'ALARM' | 'OK' {
  if (alarm.ComparisonOperator !== 'GreaterThanOrEqualToThreshold') {
    throw new TypeError(`Unknown comparison ${alarm.ComparisonOperator}.`);
  }
  if (!['notBreaching', 'ignore'].includes(alarm.TreatMissingData)) {
    throw new TypeError(`Unknown treatment of missing data ${alarm.TreatMissingData}.`);
  }
  const periodMs = periodMsOf(alarm);
  const values = Array.from({ length: alarm.EvaluationPeriods }, (_, back) => {
    const until = now - back * periodMs;
    const within = samples.filter(({ at }) => at > until - periodMs && at <= until);
    return valueIn(alarm, within);
  });
  const isIgnored = alarm.TreatMissingData === 'ignore' && values.every(Number.isNaN);
  if (isIgnored && now > 0) return stateOf(alarm, samples, now - periodMs);
  // A comparison with NaN, a period without data, is false.
  return values.every((value) => value >= alarm.Threshold) ? 'ALARM' : 'OK';
}

/** The alarm's value in one period; NaN without data. */
function valueIn(alarm: AlarmOfTemplate, samples: readonly Sample[]): number {
  const values = watchedBy(alarm).map(({ id, metric, statistic }) => {
    const own = samples.filter((sample) => isOf(sample, metric)).map(({ value }) => value);
    return [id, own.length === 0 ? Number.NaN : statisticOf(statistic, own)] as const;
  });
  if (!alarm.Metrics) return values[0]?.[1] ?? Number.NaN;
  const { Expression } = alarm.Metrics.find((each) => each.Expression !== undefined) ?? {};
  if (Expression === undefined) throw new TypeError('The alarm has no expression.');
  const code = Expression.replaceAll(' AND ', ' && ');
  return Number(runInNewContext(code, { ...functions, ...Object.fromEntries(values) }));
}

/** Those of metric math that the template uses; another one is a ReferenceError. */
const functions = {
  SUM: (values: readonly number[]) => {
    const present = values.filter((value) => !Number.isNaN(value));
    return present.length === 0 ? Number.NaN : present.reduce((sum, value) => sum + value, 0);
  },
  FILL: (value: number, otherwise: number) => (Number.isNaN(value) ? otherwise : value),
  IF: (condition: boolean, yes: number, no: number) => (condition ? yes : no),
};

function isOf(sample: Sample, { Namespace, MetricName, Dimensions = [] }: MetricOfTemplate) {
  const expected = Dimensions.map(({ Name, Value }) => `${Name}=${Value}`).sort();
  const own = Object.entries(sample.dimensions).map(([name, value]) => `${name}=${value}`);
  return (
    sample.namespace === Namespace &&
    sample.name === MetricName &&
    own.sort().join() === expected.join()
  );
}

function statisticOf(statistic: string, values: readonly number[]): number {
  if (statistic === 'Sum') return values.reduce((sum, value) => sum + value, 0);
  if (statistic === 'Average') return statisticOf('Sum', values) / values.length;
  if (statistic === 'Maximum') return Math.max(...values);
  if (statistic === 'Minimum') return Math.min(...values);
  const [, percent] = /^p(\d+)$/.exec(statistic) ?? [];
  if (percent === undefined) throw new TypeError(`Unknown statistic ${statistic}.`);
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.ceil((Number(percent) / 100) * sorted.length) - 1] ?? Number.NaN;
}
