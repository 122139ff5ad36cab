// What Nova's calls read of Placement: the allocations of a server, and what could be allocated.
// The client for the trees of providers is placement.ts, and only in the bundles of consumers.

import * as z from 'zod';
import { type Http, RequestRefused, readBody, ServiceUnavailable } from '#core/clients/http.ts';
import {
  type CallService,
  createServiceCalls,
  type ServiceCall,
  type ServiceIdentity,
} from './service-calls.ts';

/**
 * One microversion for all calls but one: 1.14 brought nested providers, 1.20 the body of a
 * created provider, 1.23 error codes, 1.26 `reserved` up to the total.
 */
const usualMicroversion = '1.36';

/** Nova waits for the answer that depends on it. */
const candidatesMs = 5_000;

/** Amount by resource class. */
export type Resources = Readonly<Record<string, number>>;

export interface PlacementReads {
  /** Allocations of a consumer (an instance), by provider. */
  getAllocations(consumerUuid: string): Promise<Record<string, Resources>>;
  /**
   * What Placement offers for a query; see candidates-query.ts. Undefined where it does not know a
   * class or trait yet.
   */
  candidates<T>(query: string, schema: z.ZodType<T>): Promise<T | undefined>;
}

export interface PlacementOptions {
  readonly identity: ServiceIdentity;
  readonly http: Http;
}

export function createPlacementReads(options: PlacementOptions): PlacementReads {
  const call = placementCalls(options);
  return {
    getAllocations: async (consumerUuid) => {
      const path = `/allocations/${encodeURIComponent(consumerUuid)}`;
      const { request, answer } = await call('GET', path);
      // Placement answers 200 for an unknown consumer, so a 404 comes from another server.
      if (answer.status !== 200) throw refusalOf({ request, answer });
      return readBody(allocationsBody, request, answer);
    },
    candidates: async (query, schema) => {
      const path = `/allocation_candidates?${query}`;
      const { request, answer } = await call('GET', path, undefined, candidatesMs);
      if (answer.status === 400) return undefined;
      if (answer.status !== 200) throw refusalOf({ request, answer });
      return readBody(schema, request, answer);
    },
  };
}

export function placementCalls(
  { identity, http }: PlacementOptions,
  microversion = usualMicroversion,
): CallService {
  const headers = { 'OpenStack-API-Version': `placement ${microversion}` };
  return createServiceCalls(http, identity, { type: 'placement', headers });
}

/** @throws ServiceUnavailable for a Placement that is too old */
export function refusalOf({ request, answer }: ServiceCall): RequestRefused {
  const error = new RequestRefused(request, answer);
  if (answer.status === 406) throw tooOld(error, request.url);
  return error;
}

// Without nested providers we would have to change Nova's own provider, which the Nova
// specification forbids.
function tooOld(error: RequestRefused, url: string): ServiceUnavailable {
  const reason = `microversion ${usualMicroversion} (Train) or later is needed: ${error.message}`;
  return new ServiceUnavailable('placement', url, reason, false);
}

export const allocationsBody = z
  .object({
    allocations: z.record(z.string(), z.object({ resources: z.record(z.string(), z.number()) })),
  })
  .transform(({ allocations }) =>
    Object.fromEntries(Object.entries(allocations).map(([uuid, held]) => [uuid, held.resources])),
  );
