import * as z from 'zod';
import { hostsAnswer } from '#core/contracts/api/operator.ts';
import type { Deps } from '#core/deps.ts';
import { type HostState, hostStates } from '#core/domain/host/host-state.ts';
import { MarkerNotFound } from '#core/store/table/marker-not-found.ts';
import { action } from '#functions/http/action.ts';
import { fillPage, hostname, limit, pageReply } from '#functions/operator/page.ts';
import { viewHost } from '#functions/operator/view.ts';

const query = z.strictObject({
  state: z.enum(hostStates).optional(),
  limit,
  marker: hostname.optional(),
});

/** Hosts that one request reads at most; a page of a rare state may be shorter than its limit. */
const readMax = 5000;

export const getHosts = action(
  { query, answers: { 200: hostsAnswer } },
  async ({ deps, query: given, base }) => {
    const { state, marker } = given;
    if (marker !== undefined && !(await deps.store.inventory.hostSummary(marker))) {
      throw new MarkerNotFound(marker);
    }
    const { rows, next } = await fillPage(
      { limit: given.limit, readMax, ...(marker && { marker }) },
      (after, count) => readPage(deps, after, count, state),
    );
    return { body: pageReply('hosts', rows, { base, path: '/hosts', query: given }, next) };
  },
);

async function readPage(
  deps: Deps,
  after: string | undefined,
  count: number,
  state: HostState | undefined,
) {
  const nowMs = deps.clock();
  const summaries = await deps.listings.hostsAfter(after, count);
  const hosts = await deps.store.inventory.hostsAlone(summaries.map((each) => each.hostname));
  return summaries.map((summary) => {
    const host = hosts.get(summary.hostname);
    // The index may still name a host that was forgotten just now.
    const row = host && viewHost(host, summary, summary, nowMs);
    const isWanted = row && (state === undefined || row.state === state);
    return { marker: summary.hostname, row: isWanted ? row : undefined };
  });
}
