// AWS IoT Core's message broker on this machine: MQTT 3.1.1 over mutual TLS. A host is who its
// certificate says, and its client id must say the same.
//
// INVARIANTS
// - A message with QoS 1 is acknowledged only after `deliver` has taken it: whoever kills us in
//   between finds that the host sends it again. (The broker library acknowledges between its
//   authorizePublish and published hooks, so delivery happens in the first.)
// - Of one client id at most one connection is open; the newer one wins.
// - Each connection has one `connected` and one `disconnected` event.

import { type EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type TLSSocket } from 'node:tls';
import { Aedes, type AuthorizePublishHandler, type Client, type PublishPacket } from 'aedes';
import { reportBytesMax } from '#core/contracts/inventory-report.ts';
import { type Log, silentLog } from '#core/log.ts';
import { mayPublish, maySubscribe } from './broker-policy.ts';
import type { CertificateFiles } from './certificates.ts';
import { type ListenOptions, listen, type Running } from './ports.ts';
import {
  connectedEvent,
  createSessions,
  type DisconnectReason,
  disconnectedEvent,
} from './presence.ts';

export interface BrokerOptions extends Partial<ListenOptions> {
  readonly stage: string;
  readonly certificates: CertificateFiles;
  /** Where messages go: rules, later jobs. While it rejects, nothing is acknowledged. */
  readonly deliver: (topic: string, payload: Buffer) => Promise<void>;
  readonly log?: Log;
}

export interface LocalBroker extends Running {
  readonly host: string;
  readonly port: number;
  /** Sends to a host, which gets it when it next connects if it is away. */
  publish(topic: string, payload: string): Promise<void>;
}

/** @throws PortTaken */
export async function startBroker(options: BrokerOptions): Promise<LocalBroker> {
  const { stage, certificates, deliver, host = '127.0.0.1', log = silentLog } = options;
  const createSession = createSessions();
  const reasons = new WeakMap<Client, DisconnectReason>();
  const open = new Map<string, Client>();
  const telling = new Set<Promise<void>>();

  const broker = new Aedes({
    preConnect: (client, packet, callback) => {
      const isWho = commonNameOf(client) === packet.clientId && packet.clientId !== '';
      // As AWS does: no reason given, the connection is gone.
      if (!isWho) client.conn.destroy();
      callback(null, isWho);
    },
    authorizePublish: (client, packet, callback) => {
      admit(client, packet).then(
        () => callback(null),
        (error: Error) => callback(error),
      );
    },
    authorizeSubscribe: (client, subscription, callback) =>
      // Without a subscription it is answered with a failure (0x80).
      callback(null, maySubscribe(client.id, subscription.topic) ? subscription : null),
  });

  async function admit(
    client: Client | null,
    packet: Parameters<AuthorizePublishHandler>[1],
  ): Promise<void> {
    if (client === null) throw new Error('Nobody published this.');
    const refuse = (reason: DisconnectReason, text: string, cause?: unknown): never => {
      reasons.set(client, reason);
      log.warn(text, { thing: client.id, topic: packet.topic, cause });
      throw new Error(text, { cause });
    };
    if (!mayPublish(stage, client.id, packet.topic)) {
      refuse('FORBIDDEN_ACCESS', 'A host published to what is not its own.');
    }
    const payload = Buffer.from(packet.payload);
    if (payload.length > reportBytesMax) {
      refuse('CLIENT_ERROR', `A message was larger than ${reportBytesMax} bytes.`);
    }
    if (packet.qos === 2) refuse('CLIENT_ERROR', 'QoS 2 is not supported.');
    try {
      await deliver(packet.topic, payload);
    } catch (error) {
      refuse('SERVER_ERROR', 'A message could not be delivered.', error);
    }
  }

  // Its types do not know of this event; unheard, it would end the process.
  (broker as EventEmitter).on('error', (error: Error) =>
    log.error('The broker failed.', { error }),
  );
  broker.on('keepaliveTimeout', (client) => reasons.set(client, 'MQTT_KEEP_ALIVE_TIMEOUT'));
  broker.on('client', (client) => {
    const before = open.get(client.id);
    open.set(client.id, client);
    if (before !== undefined) {
      reasons.set(before, 'DUPLICATE_CLIENTID');
      before.conn.destroy();
    }
    const session = createSession(client.id);
    tell(connectedEvent(session, remoteAddressOf(client)));
    // The socket's own event: the library tells of an end only if it still knows the client.
    client.conn.once('close', () => {
      if (open.get(client.id) === client) open.delete(client.id);
      tell(disconnectedEvent(session, reasons.get(client) ?? ownReason(client)));
    });
  });

  function tell({ topic, payload }: { topic: string; payload: Buffer }): void {
    const told = deliver(topic, payload)
      .catch((error: unknown) => log.error('A lifecycle event was lost.', { topic, error }))
      .finally(() => telling.delete(told));
    telling.add(told);
  }

  await broker.listen();
  const sockets = new Set<TLSSocket>();
  const server = createServer({
    cert: readFileSync(certificates.certificateFile),
    key: readFileSync(certificates.keyFile),
    ca: readFileSync(certificates.authorityFile),
    requestCert: true,
    rejectUnauthorized: true,
    // Without it each small answer waits for the acknowledgement of the one before: 130 ms a job.
    noDelay: true,
  });
  server.on('secureConnection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    broker.handle(socket);
  });
  const port = await listen(server, { ...options, port: options.port ?? 0, host });

  return {
    host,
    port,
    publish: (topic, payload) => {
      const packet: PublishPacket = {
        cmd: 'publish',
        topic,
        payload,
        qos: 1,
        dup: false,
        retain: false,
      };
      return new Promise((resolve, reject) => {
        broker.publish(packet, (error) => (error ? reject(error) : resolve()));
      });
    },
    stop: async () => {
      for (const client of open.values()) reasons.set(client, 'SERVER_INITIATED_DISCONNECT');
      server.close();
      // Each connection's end is told of when its socket closes, and not before.
      await Promise.all(
        [...sockets].map((socket) => {
          const closed = once(socket, 'close');
          socket.destroy();
          return closed;
        }),
      );
      await new Promise<void>((resolve) => broker.close(resolve));
      await Promise.all(telling);
    },
  };
}

function commonNameOf(client: Client): string | undefined {
  const { subject } = (client.conn as TLSSocket).getPeerCertificate();
  return typeof subject?.CN === 'string' ? subject.CN : undefined;
}

function remoteAddressOf(client: Client): string {
  return (client.conn as TLSSocket).remoteAddress ?? '';
}

/** The library notes a DISCONNECT packet, but does not show it. */
function ownReason(client: Client): DisconnectReason {
  const saidGoodbye = (client as Client & { readonly _disconnected?: boolean })._disconnected;
  return saidGoodbye ? 'CLIENT_INITIATED_DISCONNECT' : 'CONNECTION_LOST';
}
