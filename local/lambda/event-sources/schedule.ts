// A fake EventBridge Scheduler: invokes a function periodically. While a run takes longer than its
// period, no second run starts.

import type { ScheduledEvent } from 'aws-lambda';
import { type Log, silentLog } from '#core/log.ts';
import { invoke, type LambdaFunction } from '#local/lambda/lambda.ts';
import type { Running } from '#local/ports.ts';

interface ScheduleOptions {
  readonly everySeconds: number;
  readonly target: LambdaFunction<ScheduledEvent, unknown>;
  readonly log?: Log;
}

export interface Schedule extends Running {
  /** Waits for a run that is in progress, and for one that begins now. For demos and tests. */
  run(): Promise<void>;
}

/** The first run starts after one period. */
export function startSchedule({
  everySeconds,
  target,
  log = silentLog,
}: ScheduleOptions): Schedule {
  let current: Promise<void> | undefined;
  const start = () => {
    current ??= invoke(target, scheduledEvent(target.name))
      .then(
        () => {},
        (error: unknown) => log.error('Scheduled run failed', { name: target.name, error }),
      )
      .finally(() => {
        current = undefined;
      });
    return current;
  };
  const timer = setInterval(start, everySeconds * 1000);
  return {
    run: async () => {
      // It may have passed by what the caller has changed since.
      await current;
      await start();
    },
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
