// Quotas of the account that settings ask more of than AWS gives. Their codes are AWS's.

import { CheckFailed } from '#core/command-line/checks.ts';
import { queues } from '#core/contracts/queues/queues.ts';
import { mostOf } from '#infra/settings/provisioned.ts';
import type { DeploymentSettings } from '#infra/settings/settings.ts';
import type { Check } from './check.ts';

/** Executions that Lambda keeps for functions without a reservation. */
const unreserved = 100;
/** The consumers of all queues, when all are busy. */
const consumersAtOnce = queues.reduce((sum, { concurrencyMax }) => sum + concurrencyMax, 0);
/** The API, a reader of each shard of the streams, and the sweep. */
const othersAtOnce = 20;
/** New accounts have ten; a bind's requests and messages would then be throttled. */
const neededAtOnce = consumersAtOnce + othersAtOnce;
/** Nova's calls for a server, from GET of the profile to DELETE. */
const callsOfServer = 5;

export const executionsCheck: Check = {
  name: 'concurrent executions of Lambda',
  remedy: 'Check the permission lambda:GetAccountSettings.',
  look: async ({ aws, settings }) => {
    const { AccountLimit } = await aws.get('lambda', '/2016-08-19/account-settings');
    const limit = Number((AccountLimit as Record<string, unknown>)?.ConcurrentExecutions);
    const kept = keptExecutions(settings);
    const needed = Math.max(neededAtOnce, kept > 0 ? kept + unreserved : 0);
    const parts =
      needed === neededAtOnce
        ? `${consumersAtOnce} for the consumers of its queues, ${othersAtOnce} for its other functions`
        : `${kept} reserved or provisioned, ${unreserved} that Lambda keeps for other functions`;
    if (limit >= needed) return `${limit}, of which ${kept} would be reserved or provisioned`;
    throw new CheckFailed(
      `The account has ${limit} concurrent executions in ${aws.region}, and the stack needs ${needed}: ${parts}.`,
      increase(aws.region, 'lambda', 'L-B99A9384', Math.max(needed, 1000)),
    );
  },
};

export const requestsCheck: Check = {
  name: 'requests to API Gateway',
  remedy: 'Check the permission apigateway:GET.',
  look: async ({ aws, settings }) => {
    const { throttleSettings } = await aws.get('apigateway', '/account');
    const limit = Number((throttleSettings as Record<string, unknown>)?.rateLimit);
    const { nova } = settings.throttling;
    if (limit >= nova) {
      return `${limit} a second, for ${Math.floor(limit / callsOfServer)} servers a second of ${callsOfServer} calls each`;
    }
    throw new CheckFailed(
      `The account has ${limit} requests a second in ${aws.region}, and novaRequestsPerSecond gives ${nova} to each of Nova's calls.`,
      increase(aws.region, 'apigateway', 'L-8A5B8E43', nova * callsOfServer),
    );
  },
};

/** Provisioned executions of a function are within its reservation, where it has one. */
function keptExecutions(settings: DeploymentSettings): number {
  const kept = { ...settings.provisionedConcurrency, ...settings.reservedConcurrency };
  return Object.values(kept).reduce<number>((sum, each) => sum + mostOf(each), 0);
}

function increase(region: string, service: string, code: string, value: number): string {
  return `aws service-quotas request-service-quota-increase --region ${region} --service-code ${service} --quota-code ${code} --desired-value ${value}`;
}
