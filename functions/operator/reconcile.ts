import * as z from 'zod';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { reconcileAnswer } from '#core/contracts/api/operator.ts';
import { findHost } from '#core/operations/inventory/find-host.ts';
import { comparePart } from '#core/operations/placement/compare-host.ts';
import { action, type Request } from '../http/action.ts';
import { noQuery } from '../http/query.ts';
import { hostname } from './page.ts';

const body = z.strictObject({
  host: hostname,
  dry_run: z.boolean().default(true).meta({ description: 'false: repair what differs' }),
  marker: z.guid().toLowerCase().optional().meta({ description: '`next` of the request before' }),
});

/** The gateway waits for 30 s; each device is a few requests to Placement. */
export const compareMs = 15_000;

type OwnRequest = Request<Record<string, never>, z.infer<typeof body>, ConsumerDeps>;

/**
 * Compares one host with Placement. Without `dry_run` the devices that differ are written to
 * Placement as after each of their changes, soon after the answer.
 */
export const reconcileAction = action(
  { query: noQuery, body, answers: { 200: reconcileAnswer, 202: reconcileAnswer }, refuses: [404] },
  async ({ deps, caller, body: given }: OwnRequest) => {
    await findHost(deps, given.host);
    const untilMs = deps.clock() + compareMs;
    const bounds = { after: given.marker, untilMs };
    const { rows, differing, next } = await comparePart(deps, given.host, bounds);
    const messages = differing.flatMap(({ providers: [provider_uuid] }) =>
      provider_uuid ? [{ provider_uuid, request_id: caller.requestId }] : [],
    );
    const isRepair = !given.dry_run && messages.length > 0;
    if (isRepair) await deps.queues.send('provider-syncs', messages);
    return {
      status: isRepair ? 202 : 200,
      body: {
        hostname: given.host,
        dry_run: given.dry_run,
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
