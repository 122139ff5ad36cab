// The Lambda runtime of a handler: an event, a context, and a time limit.

import type { Context } from 'aws-lambda';

export type LambdaHandler<Event = unknown, Result = unknown> = (
  event: Event,
  context: Context,
) => Promise<Result>;

export interface LambdaFunction<Event, Result> {
  readonly name: string;
  readonly handler: LambdaHandler<Event, Result>;
  readonly timeoutSeconds: number;
}

/** Lambda would stop the process of the function; the local runtime only stops waiting. */
class TaskTimedOut extends Error {
  override readonly name = 'TaskTimedOut';
}

/** @throws what the handler throws, or TaskTimedOut */
export async function invoke<Event, Result>(
  { name, handler, timeoutSeconds }: LambdaFunction<Event, Result>,
  event: Event,
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new TaskTimedOut(`${name} timed out after ${timeoutSeconds} seconds.`)),
      timeoutSeconds * 1000,
    );
  });
  try {
    return await Promise.race([handler(event, createContext(name, timeoutSeconds)), timeout]);
  } finally {
    clearTimeout(timer);
  }
}

function createContext(name: string, timeoutSeconds: number): Context {
  const deadline = Date.now() + timeoutSeconds * 1000;
  return {
    awsRequestId: crypto.randomUUID(),
    functionName: name,
    functionVersion: '$LATEST',
    invokedFunctionArn: `arn:aws:lambda:us-east-1:000000000000:function:${name}`,
    memoryLimitInMB: '512',
    logGroupName: `/aws/lambda/${name}`,
    logStreamName: 'local',
    callbackWaitsForEmptyEventLoop: false,
    getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
    done: () => {},
    fail: () => {},
    succeed: () => {},
  };
}
