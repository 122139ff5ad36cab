// Nova's host aggregates and their availability zones, asked with the token of the viewer. By
// default Nova shows them to administrators only.

import * as z from 'zod';
import type { Http } from '#core/clients/http.ts';
import type { ServiceIdentity } from './service-calls.ts';
import { getAs, keepAnswers, type Viewer } from './viewer-answers.ts';

const answerBody = z.object({
  aggregates: z.array(
    z.object({
      name: z.string().max(255),
      availability_zone: z.string().max(255).nullable(),
      hosts: z.array(z.string()),
    }),
  ),
});

export type Aggregate = z.output<typeof answerBody>['aggregates'][number];

interface AggregatesOptions {
  readonly http: Http;
  readonly identity: Pick<ServiceIdentity, 'endpoint'>;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** None where the viewer may not see them, or where Nova does not answer. */
export type FindAggregates = (viewer: Viewer) => Promise<readonly Aggregate[]>;

export function createFindAggregates(options: AggregatesOptions): FindAggregates {
  const { http, identity, clock } = options;
  const keep = keepAnswers<readonly Aggregate[]>(clock);

  return async (viewer) => {
    const aggregates = await keep(['aggregates'], viewer, async () => {
      const url = `${await identity.endpoint('compute')}/os-aggregates`;
      const { status, body } = await getAs(viewer, http, 'compute', url);
      if (status === 403 || status === 404) return [];
      return answerBody.parse(body).aggregates;
    });
    return aggregates ?? [];
  };
}
