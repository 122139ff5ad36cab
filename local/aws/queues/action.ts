// The type of an action of the SQS API, and its context.

import type * as z from 'zod';
import type { Arrivals } from './arrivals.ts';
import { SqsError } from './errors.ts';
import type { QueueStorage } from './storage.ts';

export interface ActionContext {
  readonly storage: QueueStorage;
  readonly arrivals: Arrivals;
  /** `http://host:port` as in the client's request: queue URLs begin with it. */
  readonly origin: string;
  readonly now: () => number;
  /** Aborted when the client disconnects, so that no message is received in vain. */
  readonly signal: AbortSignal;
}

export type Action = (context: ActionContext, input: unknown) => object | Promise<object>;

/** Checks the input before the action runs; the error names the invalid parameter. */
export function action<T extends z.ZodType>(
  schema: T,
  run: (context: ActionContext, input: z.output<T>) => object | Promise<object>,
): Action {
  return (context, input) => {
    const parsed = schema.safeParse(input);
    if (parsed.success) return run(context, parsed.data);
    const [issue] = parsed.error.issues;
    const name = issue?.path.join('.') ?? '';
    throw new SqsError(
      issue?.code === 'invalid_type' && issue.input === undefined
        ? 'MissingParameter'
        : 'InvalidParameterValue',
      `Value for parameter ${name} is invalid. Reason: ${issue?.message ?? 'unknown'}.`,
    );
  };
}
