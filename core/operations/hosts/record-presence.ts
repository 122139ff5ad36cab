import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { PresenceEvent } from '#core/contracts/queues/queue-messages.ts';
import type { Presence, StoredHost } from '#core/domain/host/host.ts';
import { supersedes } from '#core/domain/host/presence.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { present } from '#core/shapes/derive/present.ts';
import { keepSummary } from './keep-summary.ts';

/**
 * Stores that a host's agent connected or disconnected. An event older than the stored one changes
 * nothing, and neither does the end of a connection of a host that is not known: of one that was
 * forgotten meanwhile, it would make a new host. A connection of a revoked host does not count.
 */
export async function recordPresence(
  deps: ConsumerDeps,
  hostname: string,
  event: PresenceEvent,
): Promise<void> {
  const presence: Presence = {
    isConnected: event.eventType === 'connected',
    ...(event.sessionIdentifier && { session: event.sessionIdentifier }),
    ...present({ version: event.versionNumber }),
    ...(event.principalIdentifier && { certificate: event.principalIdentifier }),
    at: new Date(event.timestamp).toISOString(),
  };
  const inventory = await deps.store.inventory.host(hostname);
  const { host } = inventory;
  const isUnknown = host.bootId === undefined && !host.presence;
  if (isUnknown && !presence.isConnected) return;
  if (host.revokedAt !== undefined && presence.isConnected) {
    deps.log.warn('Connection of a revoked host ignored', { host: hostname });
    return;
  }
  if (!supersedes(presence, host.presence)) {
    // An earlier delivery of the event may have died before it kept the summary.
    await keepSummary(deps, inventory);
    return;
  }
  // Count before the write: a second delivery finds the event stored, and counts nothing.
  deps.metrics.put([
    { name: presence.isConnected ? 'AgentsConnected' : 'AgentsDisconnected', value: 1 },
  ]);
  const order = Math.max((host.presence?.order ?? 0) + 1, event.timestamp);
  const stored = { ...presence, order, ...present({ endedBefore: endBefore(presence, host) }) };
  if (!(await deps.store.inventory.putPresence(hostname, stored, host.presence))) {
    throw new RetryLater(`Another event of ${hostname} came first.`, 1);
  }
  await keepSummary(deps, { ...inventory, host: { ...host, presence: stored } });
  deps.log.info(`Agent ${event.eventType}`, { host: hostname });
}

function endBefore(event: Presence, { presence: before }: StoredHost): string | undefined {
  return event.isConnected && before?.isConnected === false ? before.at : undefined;
}
