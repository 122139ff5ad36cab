// EventBridge Scheduler: invokes a function every so often. A run that takes longer than its period
// is not joined by a second one.

import type { ScheduledEvent } from 'aws-lambda';
import { type Log, silentLog } from '#core/log.ts';
import type { Running } from '../../process/ports.ts';
import { invoke, type LambdaFunction } from '../lambda.ts';

export interface ScheduleOptions {
  readonly everySeconds: number;
  readonly target: LambdaFunction<ScheduledEvent, unknown>;
  readonly log?: Log;
}

export interface Schedule extends Running {
  /** Runs now; or, if it runs already, waits for that. For demonstrations and tests. */
  run(): Promise<void>;
}

/** The first run is one period from now. */
export function startSchedule({
  everySeconds,
  target,
  log = silentLog,
}: ScheduleOptions): Schedule {
  let current: Promise<void> | undefined;
  const run = () => {
    current ??= invoke(target, scheduledEvent(target.name))
      .then(
        () => {},
        (error: unknown) => log.error('The scheduled run failed.', { name: target.name, error }),
      )
      .finally(() => {
        current = undefined;
      });
    return current;
  };
  const timer = setInterval(run, everySeconds * 1000);
  return {
    run,
    stop: async () => {
      clearInterval(timer);
      await current;
    },
  };
}

function scheduledEvent(name: string): ScheduledEvent {
  return {
    id: crypto.randomUUID(),
    version: '0',
    account: '000000000000',
    region: 'us-east-1',
    time: new Date().toISOString(),
    source: 'aws.scheduler',
    'detail-type': 'Scheduled Event',
    resources: [`arn:aws:scheduler:us-east-1:000000000000:schedule/default/${name}`],
    detail: {},
  };
}
