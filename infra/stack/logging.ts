import {
  ApplicationLogLevel,
  type FunctionOptions,
  LoggingFormat,
  SystemLogLevel,
} from 'aws-cdk-lib/aws-lambda';
import type { LogLevel } from '#infra/settings/choices.ts';

/**
 * Lambda's own lines, three for each invocation, cost more than ours: it writes them only of
 * invocations that fail or time out. That takes the JSON format, in which Lambda filters our lines
 * too; it would drop lines of metrics below INFO, since they have no level.
 * https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html
 */
export function logging(level: LogLevel): Partial<FunctionOptions> {
  if (level === 'WARN' || level === 'ERROR') return { loggingFormat: LoggingFormat.TEXT };
  return {
    loggingFormat: LoggingFormat.JSON,
    applicationLogLevelV2: ApplicationLogLevel[level],
    systemLogLevelV2: level === 'DEBUG' ? SystemLogLevel.DEBUG : SystemLogLevel.WARN,
  };
}
