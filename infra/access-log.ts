// The log of API Gateway, a line for each request. It has what the functions' own logs cannot say: that
// one of them failed, how long the whole took, and what was turned away. No header and no query is
// among it, and so no token.

import { RemovalPolicy } from 'aws-cdk-lib';
import { FilterPattern, LogGroup, MetricFilter } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { unauthorizedMetric } from './metrics.ts';
import type { DeploymentSettings } from './settings.ts';

export function createAccessLog(
  scope: Construct,
  { stage, logRetention }: DeploymentSettings,
): { readonly log: LogGroup; readonly format: string } {
  const log = new LogGroup(scope, 'AccessLog', {
    // Logs below this path share one resource policy; others would each need a place in it.
    logGroupName: `/aws/vendedlogs/${stage}-cyborg-api`,
    retention: logRetention,
    removalPolicy: RemovalPolicy.DESTROY,
  });
  // Counted here, a flood of unknown tokens costs the functions nothing more.
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
