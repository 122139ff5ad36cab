import * as z from 'zod';
import { programDeployable } from '#core/operations/program/program-deployable.ts';
import { action } from '#functions/http/action.ts';
import { noQuery } from '#functions/http/query.ts';

const body = z.tuple([
  z.strictObject({
    op: z.enum(['add', 'replace']),
    path: z.literal('/bitstream'),
    value: z.guid(),
  }),
]);

/** The specification's form; the answer only says that the request was accepted. */
export const update = action(
  { query: noQuery, body, answers: { 200: null }, refuses: [404, 409] },
  async ({ deps, caller, id, body: [{ value }] }) => {
    await programDeployable(deps, caller, id, value);
    return {};
  },
);
