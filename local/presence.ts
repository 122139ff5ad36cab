// Lifecycle events: AWS IoT tells of each connection's begin and end. They may arrive in any order;
// `versionNumber` is the same in both events of one connection and greater in a later connection's.
// https://docs.aws.amazon.com/iot/latest/developerguide/life-cycle-events.html

import type { PresenceEvent } from '#core/contracts/queue-messages.ts';

/** Those of AWS that can happen here. */
export type DisconnectReason =
  | 'CLIENT_ERROR'
  | 'CLIENT_INITIATED_DISCONNECT'
  | 'CONNECTION_LOST'
  | 'DUPLICATE_CLIENTID'
  | 'FORBIDDEN_ACCESS'
  | 'MQTT_KEEP_ALIVE_TIMEOUT'
  | 'SERVER_ERROR'
  | 'SERVER_INITIATED_DISCONNECT';

export interface PresenceSession {
  readonly clientId: string;
  readonly sessionIdentifier: string;
  readonly versionNumber: number;
}

/** AWS counts from 0 for each client; we begin with the time, so that a restart never counts back. */
export function createSessions(): (clientId: string) => PresenceSession {
  const latest = new Map<string, number>();
  return (clientId) => {
    const versionNumber = Math.max(Date.now(), (latest.get(clientId) ?? 0) + 1);
    latest.set(clientId, versionNumber);
    return { clientId, sessionIdentifier: crypto.randomUUID(), versionNumber };
  };
}

export function connectedEvent(session: PresenceSession, ipAddress: string) {
  return message('connected', session, { ipAddress });
}

export function disconnectedEvent(session: PresenceSession, disconnectReason: DisconnectReason) {
  return message('disconnected', session, {
    disconnectReason,
    clientInitiatedDisconnect: disconnectReason === 'CLIENT_INITIATED_DISCONNECT',
  });
}

function message(
  eventType: PresenceEvent['eventType'],
  session: PresenceSession,
  more: Readonly<Record<string, unknown>>,
): { topic: string; payload: Buffer } {
  const event = { ...session, timestamp: Date.now(), eventType, ...more } satisfies PresenceEvent;
  return {
    topic: `$aws/events/presence/${eventType}/${session.clientId}`,
    payload: Buffer.from(JSON.stringify(event)),
  };
}
