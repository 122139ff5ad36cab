import * as z from 'zod';
import { drainedAnswer } from '#core/contracts/api/operator.ts';
import { InvalidInput } from '#core/domain/errors.ts';
import { drainHost } from '#core/operations/hosts/drain-host.ts';
import { action } from '#functions/http/action.ts';

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
    const untilMs = until === undefined ? undefined : Date.parse(until);
    const nowMs = deps.clock();
    if (untilMs !== undefined && untilMs <= nowMs) {
      throw new InvalidInput(
        `until: ${until} is not in the future; it is ${new Date(nowMs).toISOString()} now.`,
      );
    }
    const { devices, others } = await drainHost(deps, caller, id, {
      reason,
      until: untilMs === undefined ? undefined : new Date(untilMs).toISOString(),
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
