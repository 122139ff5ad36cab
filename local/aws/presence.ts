// Lifecycle events: AWS IoT reports the begin and end of each connection. The events may arrive in
// any order; `versionNumber` is the same in both events of a connection and greater in later
// connections.
// https://docs.aws.amazon.com/iot/latest/developerguide/life-cycle-events.html

import type { Socket } from 'node:net';
import type { PresenceEvent } from '#core/contracts/queues/queue-messages.ts';
import type { Log } from '#core/log.ts';

/** AWS's reasons that can occur here. */
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
  readonly #inProgress = new Set<Promise<void>>();

  constructor(deliver: (topic: string, payload: Buffer) => Promise<void>, log: Log) {
    this.#deliver = deliver;
    this.#log = log;
  }

  /**
   * Call it when a client has connected; an older connection of the client ends. The end of the
   * new one is read from its socket, and `reason` gives its reason unless `blame` was called.
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
    this.#report('connected', session, { ipAddress: socket.remoteAddress });
    socket.once('close', () => {
      if (this.#open.get(clientId) === socket) this.#open.delete(clientId);
      const disconnectReason = this.#reasons.get(socket) ?? reason();
      this.#report('disconnected', session, {
        disconnectReason,
        clientInitiatedDisconnect: disconnectReason === 'CLIENT_INITIATED_DISCONNECT',
      });
    });
  }

  /** Sets the reason of the connection's end, which follows. */
  blame(socket: Socket, reason: DisconnectReason): void {
    this.#reasons.set(socket, reason);
  }

  /** Resolves when all events so far have been delivered or have failed. */
  async settled(): Promise<void> {
    await Promise.all(this.#inProgress);
  }

  /**
   * AWS counts from 0 for each client; the fake starts with the time, so a restart never counts
   * back.
   */
  #newSession(clientId: string, principalIdentifier: string): Session {
    const versionNumber = Math.max(Date.now(), (this.#latestVersions.get(clientId) ?? 0) + 1);
    this.#latestVersions.set(clientId, versionNumber);
    const sessionIdentifier = crypto.randomUUID();
    return { clientId, sessionIdentifier, versionNumber, principalIdentifier };
  }

  #report(
    eventType: PresenceEvent['eventType'],
    session: Session,
    more: Readonly<Record<string, unknown>>,
  ): void {
    const topic = `$aws/events/presence/${eventType}/${session.clientId}`;
    const event = { ...session, timestamp: Date.now(), eventType, ...more } satisfies PresenceEvent;
    const delivered = this.#deliver(topic, Buffer.from(JSON.stringify(event)))
      .catch((error: unknown) => this.#log.error('Lifecycle event lost', { topic, error }))
      .finally(() => this.#inProgress.delete(delivered));
    this.#inProgress.add(delivered);
  }
}
