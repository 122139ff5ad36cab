// The metrics of alarms and dashboard: AWS's own, and those of core/contracts/metrics.ts. All
// names contain the stage, so a name is sufficient.

import { Duration } from 'aws-cdk-lib';
import { MathExpression, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import {
  type MetricName,
  type MetricRow,
  metricNamespace,
  metricService,
  metrics,
} from '#core/contracts/metrics.ts';
import { queues, streamConsumers } from '#core/contracts/queues/queues.ts';
import { type TableName, tableName } from '#core/store/table/tables.ts';
import type { FunctionName } from '#infra/access.ts';

/** The default; hourly metrics need an hour. */
const fiveMinutes = Duration.minutes(5);
export const hour = Duration.hours(1);

export interface How {
  /** The default is the sum. */
  readonly statistic?: string;
  readonly period?: Duration;
  /** The default is what distinguishes it from its neighbors. */
  readonly label?: string;
}

/** The dead-letter queues, without the stage. */
export const deadQueueNames = [
  ...queues.map(({ name }) => `${name}-dead` as const),
  ...streamConsumers.map((name) => `${name}-dead` as const),
  'rules-dead',
] as const;

function metric(
  namespace: string,
  metricName: string,
  dimensionsMap: Record<string, string>,
  how: How,
) {
  const { statistic = Stats.SUM, period = fiveMinutes, label } = how;
  return new Metric({
    namespace,
    metricName,
    dimensionsMap,
    statistic,
    period,
    ...(label !== undefined && { label }),
  });
}

/** @param value a value of the metric's dimension, if it has one */
export function ownMetric(stage: string, name: MetricName, value?: string, how: How = {}): Metric {
  const row: MetricRow | undefined = metrics.find((each) => each.name === name);
  const { dimension } = row ?? {};
  if (
    (value === undefined) !== (dimension === undefined) ||
    (value && !dimension?.values.includes(value))
  ) {
    throw new TypeError(`Metric ${name} has no value ${value}.`);
  }
  const ownDimension = dimension && value ? { [dimension.name]: value } : {};
  const dimensions = { service: metricService, stage, ...ownDimension };
  return metric(metricNamespace, name, dimensions, how);
}

/** One metric per value of the dimension. */
export function ownMetrics(stage: string, name: MetricName, how: How = {}): Metric[] {
  const row: MetricRow | undefined = metrics.find((each) => each.name === name);
  return (row?.dimension?.values ?? []).map((value) => ownMetric(stage, name, value, how));
}

export function functionMetric(
  stage: string,
  name: FunctionName,
  measure: 'Errors' | 'Throttles' | 'IteratorAge' | 'Duration' | 'Invocations',
  how: How = {},
): Metric {
  return metric('AWS/Lambda', measure, { FunctionName: `${stage}-${name}` }, how);
}

/** @param name without the stage */
export function queueMetric(
  stage: string,
  name: string,
  measure:
    | 'ApproximateNumberOfMessagesVisible'
    | 'ApproximateAgeOfOldestMessage'
    | 'NumberOfMessagesSent',
  how: How = {},
): Metric {
  return metric('AWS/SQS', measure, { QueueName: `${stage}-${name}` }, how);
}

export function tableMetric(
  stage: string,
  name: TableName,
  measure: 'ReadThrottleEvents' | 'WriteThrottleEvents',
  how: How = {},
): Metric {
  const dimensions = { TableName: tableName(stage, name) };
  return metric('AWS/DynamoDB', measure, dimensions, how);
}

export function apiMetric(
  apiId: string,
  measure: 'Count' | '4xx' | '5xx' | 'Latency' | 'IntegrationLatency',
  how: How = {},
): Metric {
  return metric('AWS/ApiGateway', measure, { ApiId: apiId }, how);
}

/** ACM publishes it twice a day. */
export function daysToExpiry(certificateArn: string): Metric {
  const how = { statistic: Stats.MINIMUM, period: Duration.days(1) };
  return metric('AWS/CertificateManager', 'DaysToExpiry', { CertificateArn: certificateArn }, how);
}

/** Answers with 401, counted in the access log. */
export const unauthorizedMetric = { namespace: 'Cyborg/Api', name: 'Unauthorized' } as const;

export function unauthorized(stage: string): Metric {
  return metric(unauthorizedMetric.namespace, unauthorizedMetric.name, { stage }, {});
}

/** The sum of several metrics; a metric without data counts as 0. */
export function sumOf(label: string, parts: readonly Metric[]): MathExpression {
  const usingMetrics = Object.fromEntries(parts.map((part, index) => [`m${index}`, part]));
  const [first] = parts;
  return new MathExpression({
    expression: `SUM([${Object.keys(usingMetrics).join(', ')}])`,
    usingMetrics,
    label,
    period: first?.period ?? fiveMinutes,
  });
}
