// Reserved concurrency: executions that Lambda reserves for one function, which is also the
// function's limit. A flood on one function then cannot take the executions that binds need.
// https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html

import * as z from 'zod';
import { queues } from '#core/contracts/queues.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import { access, type FunctionName } from '#infra/access.ts';
import type { ReservedConcurrency } from './given-settings.ts';

/** Lambda keeps at least this many for all functions without a reservation. */
const unreservedMin = 100;

const functionNames = Object.keys(access) as FunctionName[];

/** JSON: function name without the stage → executions. */
export const reservedConcurrencySchema = z
  .string()
  .default('{}')
  .transform((text, context): ReservedConcurrency => {
    const executionsByName = recordIn(text);
    if (!executionsByName) {
      context.addIssue('not a JSON object, such as {"changes": 20}');
      return {};
    }
    for (const [name, executions] of Object.entries(executionsByName)) {
      const fault = faultOf(name, executions);
      if (fault) context.addIssue(fault);
    }
    return executionsByName as ReservedConcurrency;
  });

/** Checks the reservations against the account's quota. */
export function faultsOfQuota(reserved: ReservedConcurrency, quota: number): string[] {
  const total = Object.values(reserved).reduce((sum, executions) => sum + executions, 0);
  if (total === 0 || total + unreservedMin <= quota) return [];
  return [
    `reservedConcurrency: ${total} reserved of ${quota} executions (concurrencyQuota); ` +
      `Lambda keeps ${unreservedMin} for functions without a reservation`,
  ];
}

function recordIn(text: string): Readonly<Record<string, unknown>> | undefined {
  const parsed = parseJson(text);
  const isRecord = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
  return isRecord ? (parsed as Record<string, unknown>) : undefined;
}

function faultOf(name: string, executions: unknown): string | undefined {
  if (!functionNames.some((each) => each === name)) {
    return `unknown function ${name}; the functions are ${functionNames.join(', ')}`;
  }
  if (!Number.isInteger(executions) || Number(executions) < 1) {
    return `${name} must be an integer from 1`;
  }
  const atOnce = queues.find((queue) => queue.name === name)?.concurrencyMax ?? 1;
  if (Number(executions) >= atOnce) return undefined;
  // SQS counts a throttled delivery, and the deliveries of a message are limited.
  return `${name} must be at least ${atOnce}, the concurrency of its queue`;
}
