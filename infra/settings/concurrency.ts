// Reserved concurrency: executions that Lambda reserves for one function, which is also the
// function's limit. A flood on one function then cannot take the executions that binds need.
// Provisioned concurrency: executions that have started before they are called.
// https://docs.aws.amazon.com/lambda/latest/dg/configuration-concurrency.html

import * as z from 'zod';
import { queues } from '#core/contracts/queues/queues.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import { access, type FunctionName, shifted } from '#infra/access.ts';
import type {
  CyborgSettings,
  ProvisionedConcurrency,
  ReservedConcurrency,
} from './given-settings.ts';
import { faultOfProvisioned, mostOf } from './provisioned.ts';

type Concurrency = Pick<
  CyborgSettings,
  'reservedConcurrency' | 'provisionedConcurrency' | 'concurrencyQuota'
>;

/** Lambda keeps at least this many for all functions without a reservation. */
const unreservedMin = 100;

const functionNames = Object.keys(access) as FunctionName[];

/** JSON: function name without the stage → executions. */
export const reservedConcurrencySchema = executionsByName<ReservedConcurrency>(
  (name, executions): string | undefined => {
    const fault = faultOfName(functionNames, name) ?? faultOfReserved(name, executions);
    const atOnce = queues.find((queue) => queue.name === name)?.concurrencyMax ?? 1;
    if (fault || Number(executions) >= atOnce) return fault;
    // SQS counts a throttled delivery, and the deliveries of a message are limited.
    return `${name} must be at least ${atOnce}, the concurrency of its queue`;
  },
);

/**
 * Executions that Lambda keeps started, of functions that are called by an alias.
 * https://docs.aws.amazon.com/lambda/latest/dg/provisioned-concurrency.html
 */
export const provisionedConcurrencySchema = executionsByName<ProvisionedConcurrency>(
  (name, executions) => faultOfName(shifted, name) ?? faultOfProvisioned(name, executions),
);

/** Checks reserved and provisioned executions against each other and the account's quota. */
export function faultsOfQuota({
  reservedConcurrency: reserved,
  provisionedConcurrency: provisioned,
  concurrencyQuota: quota,
}: Required<Concurrency>): string[] {
  const mostByName = Object.entries(provisioned).map(
    ([name, each]) => [name, mostOf(each)] as const,
  );
  const beyond = mostByName.flatMap(([name, executions]) => {
    const most = reserved[name as FunctionName];
    if (most === undefined || executions <= most) return [];
    return [
      `provisionedConcurrency: ${name} has ${executions}, and ${most} in reservedConcurrency`,
    ];
  });
  const ofOthers = mostByName.filter(([name]) => !(name in reserved));
  const total = [
    ...Object.values(reserved),
    ...ofOthers.map(([, executions]) => executions),
  ].reduce((sum, executions) => sum + executions, 0);
  if (total === 0 || total + unreservedMin <= quota) return beyond;
  return [
    ...beyond,
    `reservedConcurrency: ${total} reserved or provisioned of ${quota} executions (concurrencyQuota); ` +
      `Lambda keeps ${unreservedMin} for functions without a reservation`,
  ];
}

function executionsByName<ByName extends object>(
  check: (name: string, executions: unknown) => string | undefined,
) {
  return z
    .string()
    .default('{}')
    .transform((text, context): ByName => {
      const byName = recordIn(text);
      if (!byName) {
        context.addIssue('not a JSON object, such as {"changes": 20}');
        return {} as ByName;
      }
      for (const [name, executions] of Object.entries(byName)) {
        const fault = check(name, executions);
        if (fault) context.addIssue(fault);
      }
      return byName as ByName;
    });
}

function recordIn(text: string): Readonly<Record<string, unknown>> | undefined {
  const parsed = parseJson(text);
  const isRecord = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
  return isRecord ? (parsed as Record<string, unknown>) : undefined;
}

function faultOfName(names: readonly FunctionName[], name: string): string | undefined {
  if (names.some((each) => each === name)) return undefined;
  return `unknown function ${name}; the functions are ${names.join(', ')}`;
}

function faultOfReserved(name: string, executions: unknown): string | undefined {
  if (Number.isInteger(executions) && Number(executions) >= 1) return undefined;
  return `${name} must be an integer from 1`;
}
