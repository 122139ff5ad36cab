import type { PresenceEvent } from '../contracts/queue-messages.ts';
import type { Deps } from '../deps.ts';

/**
 * Notes that a host's agent came or went. Events come in any order: the latest by the broker's clock
 * stands, and at the same moment a connection does, because a reconnect ends the session before it.
 */
export async function recordPresence(
  deps: Deps,
  hostname: string,
  event: PresenceEvent,
): Promise<void> {
  const applied = await deps.store.inventory.putPresence(hostname, {
    isConnected: event.eventType === 'connected',
    ...(event.sessionIdentifier && { session: event.sessionIdentifier }),
    ...(event.versionNumber !== undefined && { version: event.versionNumber }),
    at: new Date(event.timestamp).toISOString(),
  });
  if (applied) deps.log.info(`Agent ${event.eventType}.`, { host: hostname });
}
