import * as z from 'zod';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { reconcileAnswer } from '#core/contracts/api/operator/incidents.ts';
import { action, type Request } from '#functions/http/action.ts';
import { compareInTime } from './compare-in-time.ts';
import { hostname } from './page.ts';

const body = z.strictObject({
  host: hostname,
  dry_run: z.boolean().default(true).meta({ description: 'false: repair what differs' }),
  marker: z.guid().toLowerCase().optional().meta({ description: '`next` of the previous answer' }),
});

type OwnRequest = Request<Record<string, never>, z.infer<typeof body>, ConsumerDeps>;

/**
 * Compares one host with Placement. Without `dry_run` the devices that differ are written to
 * Placement as after each of their changes, soon after the answer.
 */
export const reconcileAction = action(
  { body, answers: { 200: reconcileAnswer, 202: reconcileAnswer }, refuses: [404] },
  async ({ deps, caller, body: request, about }: OwnRequest) => {
    about(request);
    const { rows, differing, next } = await compareInTime(deps, request.host, request.marker);
    const messages = differing.flatMap(({ providers: [provider_uuid] }) =>
      provider_uuid ? [{ provider_uuid, request_id: caller.requestId }] : [],
    );
    const isRepair = !request.dry_run && messages.length > 0;
    if (isRepair) await deps.queues.send('provider-syncs', messages);
    return {
      status: isRepair ? 202 : 200,
      body: {
        hostname: request.host,
        dry_run: request.dry_run,
        compared: rows.length,
        differing: rows
          .filter(({ agrees }) => !agrees)
          .map(({ provider, stored, placement, host }) => ({ provider, stored, placement, host })),
        repairing: isRepair ? differing.map(({ uuid }) => uuid) : [],
        next: next ?? null,
      },
    };
  },
);
