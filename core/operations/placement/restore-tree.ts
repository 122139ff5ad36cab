// Trees of hosts that Placement has lost: Nova deletes the tree of a compute service that is
// deleted, and operators delete providers by hand.

import { isDeepStrictEqual } from 'node:util';
import { ServiceUnavailable } from '#core/clients/http.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { type HostSummary, lostPart } from '#core/domain/host/host-summary.ts';
import type { ProviderUuid } from '#core/domain/ids.ts';
import { hostsToLookAt, looksAtOnce, lostForMs } from '#core/domain/placement/tree-looks.ts';
import { pauseSeconds, RetryLater } from '#core/domain/retry-later.ts';
import { forEachAtOnce } from '#core/operations/for-each-at-once.ts';
import type { HostInventory } from '#core/store/hosts/hosts.ts';
import { timeNow } from '../time-now.ts';
import { lookAtTree } from './look-at-tree.ts';
import { restoreProviders } from './sync-providers.ts';

/** The sweep has a minute for all of its parts, and the consumer of a message one for a host. */
const beginsWithinMs = 30_000;
const pageSize = 1000;

/**
 * Looks at some hosts' trees, has those restored that are lost, and has devices synchronised that
 * another service has begun or ceased to offer. A host without the provider of
 * its compute node waits for nova-compute: the next sweep looks again.
 *
 * @throws the first fault, when the other hosts have been looked at
 */
export async function lookAtTrees(
  deps: ConsumerDeps,
  readHosts: ReadHosts = () => allHosts(deps),
): Promise<void> {
  const startedAt = deps.clock();
  const hosts = hostsToLookAt(await readHosts(), startedAt);
  await forEachAtOnce(hosts, looksAtOnce, async ({ hostname }) => {
    if (deps.clock() - startedAt > beginsWithinMs) return;
    const { lost, disputed } = await look(deps, hostname);
    const messages = [
      ...disputed.flatMap(({ providers: [first] }) => (first ? [{ provider_uuid: first }] : [])),
      ...(lost && !lost.isNodeLost ? [{ hostname }] : []),
    ];
    if (messages.length > 0) await deps.queues.send('provider-syncs', messages);
  });
}

/** The parts of the sweep that need all hosts read them once. */
export type ReadHosts = () => Promise<readonly HostSummary[]>;

export async function allHosts({
  listings,
}: Pick<ConsumerDeps, 'listings'>): Promise<HostSummary[]> {
  const hosts: HostSummary[] = [];
  for (;;) {
    const page = await listings.hostsAfter(hosts.at(-1)?.hostname, pageSize);
    hosts.push(...page);
    if (page.length < pageSize) return hosts;
  }
}

/**
 * Writes the providers to Placement that it has lost of a host for some seconds. Looks first,
 * because the message may come twice or late. A device that cannot be written is left to the next
 * sweep.
 *
 * @param attempt which delivery of the message this is, from 1
 * @throws RetryLater while Placement is away, and where the providers have just been lost
 */
export async function restoreTree(
  deps: ConsumerDeps,
  hostname: string,
  attempt: number,
): Promise<void> {
  const startedAt = deps.clock();
  try {
    const { lost } = await look(deps, hostname);
    if (!lost || lost.isNodeLost) return;
    const leftMs = Date.parse(lost.since) + lostForMs - startedAt;
    if (leftMs > 0) throw new RetryLater('Providers have just been lost.', leftMs / 1000);
    for (const { address, providers } of lost.devices) {
      if (deps.clock() - startedAt > beginsWithinMs) return;
      const [provider] = providers;
      if (provider) await restore(deps, provider, { host: hostname, address });
    }
    await look(deps, hostname);
  } catch (error) {
    if (!(error instanceof ServiceUnavailable)) throw error;
    throw new RetryLater(error.message, pauseSeconds(attempt, deps.random()));
  }
}

async function restore(
  deps: ConsumerDeps,
  provider: ProviderUuid,
  about: { readonly host: string; readonly address: string },
): Promise<void> {
  try {
    await restoreProviders(deps, provider);
    deps.log.warn('Lost provider restored in Placement', { ...about, provider });
  } catch (error) {
    deps.log.error('Lost provider not restored', { ...about, provider, error });
  }
}

/** Looks at the host's tree, and stores what is lost of it for the operators. */
async function look(deps: ConsumerDeps, hostname: string) {
  const lookedAtMs = deps.clock();
  const inventory = await deps.store.inventory.host(hostname);
  const { lost, disputed } = await lookAtTree(deps, inventory);
  const { summary } = inventory;
  const before = summary?.lostProviders;
  // More than at the last look: it goes on, or is another loss than the one that was noted.
  const isNew = before === undefined || (lost !== undefined && lost.count > before.count);
  const since = isNew ? new Date(lookedAtMs).toISOString() : before.since;
  await note(
    deps,
    inventory,
    lost && { since, count: lost.count, isNodeLost: lost.isNodeLost },
    lookedAtMs,
  );
  return { disputed, lost: lost && { ...lost, since } };
}

async function note(
  deps: ConsumerDeps,
  { host, summary }: HostInventory,
  lost: HostSummary['lostProviders'],
  lookedAtMs: number,
): Promise<void> {
  if (isDeepStrictEqual(summary?.lostProviders, lost)) return;
  const part = lostPart(lost, lookedAtMs);
  const isStored = await deps.store.inventory.putSummaryPart(host.hostname, part, timeNow(deps));
  if (!isStored) return;
  const about = { host: host.hostname, ...lost };
  if (lost) deps.log.warn('Providers lost in Placement', about);
  else deps.log.info('Providers complete in Placement again', about);
}
