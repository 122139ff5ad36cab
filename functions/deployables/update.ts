import * as z from 'zod';
import { programDeployable } from '#core/operations/program/program-deployable.ts';
import { action } from '#functions/http/action.ts';

const body = z.tuple([
  z.strictObject({
    op: z.enum(['add', 'replace']),
    path: z.literal('/bitstream'),
    value: z.guid(),
  }),
]);

/** The specification's form; the answer only says that the request was accepted. */
export const update = action(
  { body, answers: { 200: null }, refuses: [404, 409] },
  async ({ deps, caller, id, body: [{ value }] }) => {
    await programDeployable(deps, caller, id, value);
    return {};
  },
);
