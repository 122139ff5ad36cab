// API Gateway's access log, one line per request. It shows what the functions' own logs cannot:
// crashed functions, the total duration, and requests that were turned away. It contains no
// headers and no query, and so no token.

import { RemovalPolicy } from 'aws-cdk-lib';
import { FilterPattern, LogGroup, MetricFilter } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import type { DeploymentSettings } from '#infra/settings/settings.ts';
import { unauthorizedMetric } from './metrics.ts';

export function createAccessLog(
  scope: Construct,
  { stage, logRetention }: DeploymentSettings,
): { readonly log: LogGroup; readonly format: string } {
  const log = new LogGroup(scope, 'AccessLog', {
    // Logs with this prefix share one resource policy; the number of policies is limited.
    logGroupName: `/aws/vendedlogs/${stage}-cyborg-api`,
    retention: logRetention,
    removalPolicy: RemovalPolicy.DESTROY,
  });
  // Counted in the log, so that a flood of unknown tokens causes no further cost in the
  // functions.
  new MetricFilter(scope, 'Unauthorized', {
    logGroup: log,
    filterPattern: FilterPattern.stringValue('$.status', '=', '401'),
    metricNamespace: unauthorizedMetric.namespace,
    metricName: unauthorizedMetric.name,
    metricValue: '1',
    dimensions: { stage: '$.stage' },
  });
  return { log, format: JSON.stringify({ stage, ...fields }) };
}

const fields = {
  time: '$context.requestTimeEpoch',
  request: '$context.requestId',
  from: '$context.identity.sourceIp',
  method: '$context.httpMethod',
  path: '$context.path',
  route: '$context.routeKey',
  status: '$context.status',
  ms: '$context.responseLatency',
  function_ms: '$context.integrationLatency',
  error: '$context.integrationErrorMessage',
  refused: '$context.error.message',
};
