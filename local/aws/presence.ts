// Lifecycle events: AWS IoT tells of each connection's begin and end. They may arrive in any order;
// `versionNumber` is the same in both events of one connection and greater in a later connection's.
// https://docs.aws.amazon.com/iot/latest/developerguide/life-cycle-events.html

import type { Socket } from 'node:net';
import type { PresenceEvent } from '#core/contracts/queue-messages.ts';
import type { Log } from '#core/log.ts';

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

interface Session {
  readonly clientId: string;
  readonly sessionIdentifier: string;
  readonly versionNumber: number;
  readonly principalIdentifier: string;
}

export class Presence {
  readonly #deliver: (topic: string, payload: Buffer) => Promise<void>;
  readonly #log: Log;
  readonly #open = new Map<string, Socket>();
  readonly #reasons = new WeakMap<Socket, DisconnectReason>();
  readonly #latestVersions = new Map<string, number>();
  readonly #telling = new Set<Promise<void>>();

  constructor(deliver: (topic: string, payload: Buffer) => Promise<void>, log: Log) {
    this.#deliver = deliver;
    this.#log = log;
  }

  /**
   * The client has connected; an older connection of the same client ends now. The socket's own
   * event says when this one ends, and then `reason` says why unless somebody is to blame.
   */
  connected(
    clientId: string,
    socket: Socket,
    certificate: string,
    reason: () => DisconnectReason,
  ): void {
    const older = this.#open.get(clientId);
    if (older !== undefined) {
      this.blame(older, 'DUPLICATE_CLIENTID');
      older.destroy();
    }
    this.#open.set(clientId, socket);
    const session = this.#newSession(clientId, certificate);
    this.#tell('connected', session, { ipAddress: socket.remoteAddress });
    socket.once('close', () => {
      if (this.#open.get(clientId) === socket) this.#open.delete(clientId);
      const disconnectReason = this.#reasons.get(socket) ?? reason();
      this.#tell('disconnected', session, {
        disconnectReason,
        clientInitiatedDisconnect: disconnectReason === 'CLIENT_INITIATED_DISCONNECT',
      });
    });
  }

  /** What the connection's end, which follows, will be put down to. */
  blame(socket: Socket, reason: DisconnectReason): void {
    this.#reasons.set(socket, reason);
  }

  /** When all events so far have been delivered or given up. */
  async settled(): Promise<void> {
    await Promise.all(this.#telling);
  }

  /** AWS counts from 0 for each client; we begin with the time, so a restart never counts back. */
  #newSession(clientId: string, principalIdentifier: string): Session {
    const versionNumber = Math.max(Date.now(), (this.#latestVersions.get(clientId) ?? 0) + 1);
    this.#latestVersions.set(clientId, versionNumber);
    const sessionIdentifier = crypto.randomUUID();
    return { clientId, sessionIdentifier, versionNumber, principalIdentifier };
  }

  #tell(
    eventType: PresenceEvent['eventType'],
    session: Session,
    more: Readonly<Record<string, unknown>>,
  ): void {
    const topic = `$aws/events/presence/${eventType}/${session.clientId}`;
    const event = { ...session, timestamp: Date.now(), eventType, ...more } satisfies PresenceEvent;
    const told = this.#deliver(topic, Buffer.from(JSON.stringify(event)))
      .catch((error: unknown) => this.#log.error('A lifecycle event was lost.', { topic, error }))
      .finally(() => this.#telling.delete(told));
    this.#telling.add(told);
  }
}
