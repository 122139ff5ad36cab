import * as z from 'zod';
import { deployableAnswer } from '#core/contracts/api/deployables.ts';
import { programDeployable } from '#core/operations/program/program-deployable.ts';
import { action } from '#functions/http/action.ts';
import { isOperator } from '#functions/http/policy.ts';
import { viewDeployable } from './view.ts';

const body = z.tuple([
  z.strictObject({
    op: z.enum(['replace', 'add']),
    path: z.enum(['/program', '/bitstream_id']),
    value: z.tuple([z.strictObject({ image_uuid: z.guid() })]),
  }),
]);

/**
 * Deployed Cyborg's form with the path of its client, too, and openstacksdk's, which has the
 * deployable's uuid in two places.
 */
export const program = action(
  { body, answers: { 200: deployableAnswer }, refuses: [404, 409] },
  async ({ deps, caller, id, base, body: [{ value }] }) => {
    const deployable = await programDeployable(deps, caller, id, value[0].image_uuid);
    return { body: viewDeployable(deployable, base, isOperator(deps, caller)) };
  },
);
