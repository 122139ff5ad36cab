import * as z from 'zod';
import { drainedAnswer } from '#core/contracts/api/operator/hosts.ts';
import { drainHost } from '#core/operations/hosts/drain-host.ts';
import { action } from '#functions/http/action.ts';
import { futureTime } from '#functions/operator/range.ts';

const body = z.strictObject({
  reason: z.string().min(1).max(1024),
  until: z.iso.datetime({ offset: true }).optional().meta({
    description: 'when you mean to resume the host; after that an incident says so until you do',
  }),
});

export const drainHostAction = action(
  { body, answers: { 200: drainedAnswer }, refuses: [404] },
  async ({ deps, caller, id, body: { reason, until }, about }) => {
    about({ reason, until });
    const { devices, others } = await drainHost(deps, caller, id, {
      reason,
      until: until === undefined ? undefined : futureTime('until', until, deps.clock()),
    });
    return {
      body: {
        hostname: id,
        devices: devices.map(({ uuid }) => uuid),
        others: others.map(({ uuid }) => uuid),
      },
    };
  },
);
