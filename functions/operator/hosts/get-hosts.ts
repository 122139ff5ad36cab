import type { Deps } from '#core/deps.ts';
import type { HostState } from '#core/domain/host/host-state.ts';
import { MarkerNotFound } from '#core/store/table/marker-not-found.ts';
import { listAction } from '#functions/operator/list.ts';
import { fillPage, hostname } from '#functions/operator/page.ts';
import { viewHost } from '#functions/operator/view.ts';

/** Hosts that one request reads at most; a page of a rare state may be shorter than its limit. */
const readMax = 5000;

export const getHosts = listAction('hosts', { marker: hostname }, async ({ deps, query }) => {
  const { limit, marker, state } = query;
  if (marker !== undefined && !(await deps.store.inventory.hostSummary(marker))) {
    throw new MarkerNotFound(marker);
  }
  return fillPage({ limit, marker, readMax }, (after, count) =>
    readPage(deps, after, count, state),
  );
});

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
    const isShown = state === undefined || row?.state === state;
    return { marker: summary.hostname, row: isShown ? row : undefined };
  });
}
