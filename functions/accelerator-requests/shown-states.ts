import type { Deps } from '#core/deps.ts';
import type { Arq, ShownState } from '#core/domain/arq.ts';
import { needsCleaning } from '#core/domain/bind-plan.ts';
import { isLost } from '#core/domain/presence.ts';

/**
 * The states to show. What an agent has made on its host is `unknown` while that agent is gone: the
 * host may have booted since. Costs a read per host of such ARQs, and nothing for others.
 */
export async function shownStates(
  deps: Deps,
  arqs: readonly Arq[],
): Promise<ReadonlyMap<string, ShownState>> {
  const doubtful = arqs.flatMap((arq) => {
    const attachment = arq.binding?.attachment;
    const isMade = attachment && needsCleaning(attachment, deps.settings.mdevOwner);
    return isMade && arq.binding && (arq.state === 'Bound' || arq.state === 'provisioning')
      ? [{ uuid: arq.uuid, hostname: arq.binding.hostname }]
      : [];
  });
  const lost = new Set<string>();
  for (const hostname of new Set(doubtful.map((each) => each.hostname))) {
    const { host } = await deps.store.inventory.host(hostname);
    if (isLost(host, deps.clock())) lost.add(hostname);
  }
  const unknown = doubtful.filter(({ hostname }) => lost.has(hostname)).map(({ uuid }) => uuid);
  return new Map(arqs.map((arq) => [arq.uuid, unknown.includes(arq.uuid) ? 'unknown' : arq.state]));
}
