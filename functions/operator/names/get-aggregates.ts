import * as z from 'zod';
import { createHttp } from '#core/clients/http.ts';
import { createFindAggregates, type FindAggregates } from '#core/clients/openstack/aggregates.ts';
import { aggregatesAnswer } from '#core/contracts/api/openstack.ts';
import { action } from '#functions/http/action.ts';
import { userTokenOf } from '#functions/http/keystone.ts';

const query = z.strictObject({});

/** One cache per Lambda container; it keeps what each viewer may see apart. */
let findAggregates: FindAggregates | undefined;

export const getAggregates = action<z.infer<typeof query>>(
  { query, answers: { 200: aggregatesAnswer } },
  async ({ deps: { clients, clock }, caller, headers }) => {
    findAggregates ??= createFindAggregates({
      http: createHttp(),
      identity: clients.keystone,
      clock,
    });
    const token = userTokenOf(headers) ?? '';
    return { body: { aggregates: [...(await findAggregates({ ...caller, token }))] } };
  },
);
