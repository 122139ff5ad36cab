// Reserved concurrency: executions that Lambda keeps for one function, and that the function cannot
// exceed. With it a flood on one function cannot take the executions that binds need.
// https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html

import * as z from 'zod';
import { queues } from '#core/contracts/queues.ts';
import { access, type FunctionName } from './access.ts';

export type ReservedConcurrency = Readonly<Partial<Record<FunctionName, number>>>;

/** Lambda leaves at least so many to all functions without a reservation. */
const unreservedMin = 100;

const functionNames = Object.keys(access) as FunctionName[];

/** As JSON, by the names of the functions without the stage. */
export const reservedConcurrencySchema = z
  .string()
  .default('{}')
  .transform((text, context): ReservedConcurrency => {
    const given = recordIn(text);
    if (!given) {
      context.addIssue('not a JSON object, such as {"changes": 20}');
      return {};
    }
    for (const [name, executions] of Object.entries(given)) {
      const fault = faultOf(name, executions);
      if (fault) context.addIssue(fault);
    }
    return given as ReservedConcurrency;
  });

/** Whether the account can keep as much. */
export function faultsOfQuota(reserved: ReservedConcurrency, quota: number): string[] {
  const total = Object.values(reserved).reduce((sum, executions) => sum + executions, 0);
  if (total === 0 || total + unreservedMin <= quota) return [];
  return [
    `reservedConcurrency: ${total} reserved of ${quota} executions (concurrencyQuota); ` +
      `Lambda keeps ${unreservedMin} for functions without a reservation`,
  ];
}

function recordIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    const isRecord = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
    return isRecord ? (parsed as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function faultOf(name: string, executions: unknown): string | undefined {
  if (!functionNames.some((each) => each === name)) {
    return `there is no function ${name}; the functions are ${functionNames.join(', ')}`;
  }
  if (!Number.isInteger(executions) || Number(executions) < 1) {
    return `${name} must be an integer from 1`;
  }
  const atOnce = queues.find((queue) => queue.name === name)?.concurrencyMax ?? 1;
  if (Number(executions) >= atOnce) return undefined;
  // SQS counts a delivery that Lambda throttled, and a message has only so many.
  return `${name} must be at least ${atOnce}, since its queue delivers to so many at once`;
}
