// What can refuse a call of Nova or a write, and what raises it. docs/scale.md names the sources.

import { queues } from '#core/contracts/queues/queues.ts';
import { type Place, tableOfPlace } from './dynamodb.ts';

/** AWS's default quotas, and settings of this repository by their names. */
export const usual = {
  apiRequests: 10_000,
  novaRequestsPerSecond: 2000,
  executions: 1000,
  provisionedConcurrency: 0,
  /** WRU per second that a table or an index has been given, or has had half of before. */
  warmWrites: 4000,
  putEvents: 10_000,
  novaEventsConcurrency: queues[0].concurrencyMax,
} as const;

export type Raised = Readonly<Partial<Record<keyof typeof usual, number>>>;

/** One function gets a thousand executions more in ten seconds, and has as many at first. */
export const growth = { perSecond: 100, atFirst: 1000 } as const;

/** API Gateway's bucket for the account: its size follows the rate. */
export const accountBurstShare = 0.5;

export type Limit =
  | 'API Gateway'
  | 'a route'
  | 'executions'
  | 'growth of a function'
  | `writes to ${Place}`
  | `reads of ${Place}`;

const apiRate = '`apigateway` L-8A5B8E43';
const executionsQuota = '`lambda` L-B99A9384';

/** What to ask AWS for, or to set. */
export function remedyFor(limit: Limit, tenants: number): string {
  switch (limit) {
    case 'API Gateway':
      return apiRate;
    case 'a route':
      return `\`novaRequestsPerSecond\`, and ${apiRate} to five times as much`;
    case 'executions':
      return executionsQuota;
    case 'growth of a function':
      return `\`provisionedConcurrency\`, and ${executionsQuota} for it`;
    default: {
      const place = limit.split(' ').at(-1) as Place;
      if (tenants === 1 && ofTenant.includes(place)) return 'nothing: more tenants';
      if (place === 'device-profiles') return 'nothing: more profiles';
      return `warm throughput of \`${tableOfPlace(place)}\``;
    }
  }
}

/** Their key is a project. */
const ofTenant: readonly Place[] = ['arqs/by-project'];
