import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { HostSummary } from '#core/domain/host/host-summary.ts';
import type { ProviderUuid } from '#core/domain/ids.ts';
import { hostsToCompare } from '#core/domain/placement/tree-looks.ts';
import { syncProviders } from './sync-providers.ts';

/** The consumer has a minute, and one device takes some seconds where Placement is slow. */
const beginsWithinMs = 30_000;

/**
 * Has some hosts compared with Placement, and drift repaired, for example after a change by hand:
 * each host once in {@link hostsToCompare}'s hours.
 */
export async function reconcile(deps: ConsumerDeps, hosts: readonly HostSummary[]): Promise<void> {
  const messages = hostsToCompare(hosts, deps.clock()).map(({ hostname }) => {
    return { hostname, is_comparison: true } as const;
  });
  if (messages.length > 0) await deps.queues.send('provider-syncs', messages);
}

/**
 * Synchronises the devices of a host one after the other. A device that fails, and those for which
 * no time is left, follow by messages of their own, which are retried as after a change.
 */
export async function syncHost(deps: ConsumerDeps, hostname: string): Promise<void> {
  const startedAt = deps.clock();
  const left: ProviderUuid[] = [];
  const { devices } = await deps.store.inventory.host(hostname);
  for (const provider of devices.flatMap(({ providers: [first] }) => first ?? [])) {
    const isInTime = deps.clock() - startedAt < beginsWithinMs;
    if (!isInTime || !(await isSynchronised(deps, provider))) left.push(provider);
  }
  const messages = left.map((provider_uuid) => ({ provider_uuid }));
  if (messages.length > 0) await deps.queues.send('provider-syncs', messages);
}

async function isSynchronised(deps: ConsumerDeps, provider: ProviderUuid): Promise<boolean> {
  try {
    await syncProviders(deps, provider, 1);
    return true;
  } catch (error) {
    deps.log.info('Placement not synchronised at once', { provider, error });
    return false;
  }
}
