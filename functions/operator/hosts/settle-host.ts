import * as z from 'zod';
import { settledAnswer } from '#core/contracts/api/operator/hosts.ts';
import { endConflict } from '#core/operations/hosts/end-conflict.ts';
import { findHost } from '#core/operations/hosts/find-host.ts';
import { action } from '#functions/http/action.ts';

const body = z.strictObject({
  boot_id: z.guid().toLowerCase().meta({ description: "the boot of the host's own agent" }),
});

/** Ends a conflict of identity after the other agent was stopped. */
export const settleHostAction = action(
  { body, answers: { 200: settledAnswer }, refuses: [404, 409] },
  async ({ deps, id, body: { boot_id }, about }) => {
    about({ boot_id });
    await findHost(deps, id);
    await endConflict(deps, id, boot_id);
    return { body: { hostname: id, boot_id } };
  },
);
