// Where the numbers are that alarms watch and the dashboard shows: AWS's own, and ours of
// core/contracts/metrics.ts. Everything is named by the stage, so a name is all that is needed.

import { Duration } from 'aws-cdk-lib';
import { MathExpression, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import {
  type MetricName,
  type MetricRow,
  metricNamespace,
  metricService,
  metrics,
} from '#core/contracts/metrics.ts';
import { queues, streamConsumers } from '#core/contracts/queues.ts';
import { type TableName, tableName } from '#core/store/tables.ts';
import type { FunctionName } from './access.ts';

/** What is sensible for most; what comes round once an hour needs an hour. */
const fiveMinutes = Duration.minutes(5);
export const hour = Duration.hours(1);

export interface How {
  /** By default the sum. */
  readonly statistic?: string;
  readonly period?: Duration;
  /** Otherwise what tells it from those beside it. */
  readonly label?: string;
}

/** The dead-letter queues, without the stage. */
export const deadQueueNames = [
  ...queues.map(({ name }) => `${name}-dead`),
  ...streamConsumers.map((name) => `${name}-dead`),
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

/** @param of a value of the metric's dimension, where it has one */
export function ownMetric(stage: string, name: MetricName, of?: string, how: How = {}): Metric {
  const row: MetricRow | undefined = metrics.find((each) => each.name === name);
  const { dimension } = row ?? {};
  if ((of === undefined) !== (dimension === undefined) || (of && !dimension?.values.includes(of))) {
    throw new TypeError(`${name} has no ${of}.`);
  }
  const own = dimension && of ? { [dimension.name]: of } : {};
  const dimensions = { service: metricService, stage, ...own };
  return metric(metricNamespace, name, dimensions, how);
}

/** One for each value of the metric's dimension. */
export function ownMetrics(stage: string, name: MetricName, how: How = {}): Metric[] {
  const row: MetricRow | undefined = metrics.find((each) => each.name === name);
  return (row?.dimension?.values ?? []).map((of) => ownMetric(stage, name, of, how));
}

export function functionMetric(
  stage: string,
  name: FunctionName,
  what: 'Errors' | 'Throttles' | 'IteratorAge' | 'Duration' | 'Invocations',
  how: How = {},
): Metric {
  return metric('AWS/Lambda', what, { FunctionName: `${stage}-${name}` }, how);
}

/** @param name without the stage */
export function queueMetric(
  stage: string,
  name: string,
  what:
    | 'ApproximateNumberOfMessagesVisible'
    | 'ApproximateAgeOfOldestMessage'
    | 'NumberOfMessagesSent',
  how: How = {},
): Metric {
  return metric('AWS/SQS', what, { QueueName: `${stage}-${name}` }, how);
}

export function tableMetric(
  stage: string,
  name: TableName,
  what: 'ReadThrottleEvents' | 'WriteThrottleEvents',
  how: How = {},
): Metric {
  const dimensions = { TableName: tableName(stage, name) };
  return metric('AWS/DynamoDB', what, dimensions, how);
}

export function apiMetric(
  apiId: string,
  what: 'Count' | '4xx' | '5xx' | 'Latency' | 'IntegrationLatency',
  how: How = {},
): Metric {
  return metric('AWS/ApiGateway', what, { ApiId: apiId }, how);
}

/** Answers of 401, counted in the access log. */
export const unauthorizedMetric = { namespace: 'Cyborg/Api', name: 'Unauthorized' } as const;

export function unauthorized(stage: string): Metric {
  return metric(unauthorizedMetric.namespace, unauthorizedMetric.name, { stage }, {});
}

/** Several as one; of those that say nothing at a time, only the others count. */
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
