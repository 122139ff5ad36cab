// A fake AWS IoT Core message broker: MQTT 3.1.1 over mutual TLS. The certificate names the host,
// and the client id must be the same name.
//
// INVARIANTS
// - A message with QoS 1 is acknowledged only after `deliver` has taken it: if this process dies
//   in between, the host sends it again. (The broker library acknowledges between its
//   authorizePublish and published hooks, so delivery happens in the first.)
// - A message of a host never reaches another host: it goes to the rules, or to the jobs, whose
//   answers go to the host that asked.
// - A client id has at most one open connection; a newer one ends the older.
// - Each connection has one `connected` and one `disconnected` event.

import { X509Certificate } from 'node:crypto';
import { type EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type PeerCertificate, type TLSSocket } from 'node:tls';
import { Aedes, type AuthorizePublishHandler, type Client, type PublishPacket } from 'aedes';
import { reportBytesMax } from '#core/contracts/report/inventory-report.ts';
import { type Log, silentLog } from '#core/log.ts';
import { type ListenOptions, listen, type Running } from '#local/ports.ts';
import { isJobsTopic, mayPublish, maySubscribe } from './broker-policy.ts';
import type { CertificateFiles } from './certificates.ts';
import { Delivery } from './iot-jobs/delivery.ts';
import { certificateId, type ThingRegistry } from './iot-jobs/registry/registry.ts';
import type { DeviceJobs } from './iot-jobs/start.ts';
import { type DisconnectReason, Presence } from './presence.ts';

/** Certificates of the connections: a socket that its client has closed no longer has it. */
const peers = new WeakMap<TLSSocket, PeerCertificate>();

/** The topic of messages that were delivered; no host may subscribe to it. */
const takenTopic = 'taken';

export interface BrokerOptions extends Partial<ListenOptions> {
  readonly stage: string;
  readonly certificates: CertificateFiles;
  /** Takes messages for the rules. While it rejects, no message is acknowledged. */
  readonly deliver: (topic: string, payload: Buffer) => Promise<void>;
  /** Takes messages on the jobs topics of hosts; without it they go to the rules as well. */
  readonly jobs?: DeviceJobs;
  /** Says who may connect; without it, every host with a certificate of the authority. */
  readonly registry?: ThingRegistry;
  readonly log?: Log;
}

export interface LocalBroker extends Running {
  readonly host: string;
  readonly port: number;
  /** Sends to a host; an absent host gets the message when it connects. */
  publish(topic: string, payload: string): Promise<void>;
}

/** @throws PortTaken */
export async function startBroker(options: BrokerOptions): Promise<LocalBroker> {
  const { certificates, host = '127.0.0.1', log = silentLog } = options;
  const presence = new Presence(options.deliver, log);
  const aedes = createAedes(options, presence, log);
  await aedes.listen();

  const sockets = new Set<TLSSocket>();
  const server = createServer({
    cert: readFileSync(certificates.certificateFile),
    key: readFileSync(certificates.keyFile),
    ca: readFileSync(certificates.authorityFile),
    requestCert: true,
    rejectUnauthorized: true,
    // Without it each small answer waits 40 ms or more for an acknowledgement: 130 ms a job.
    noDelay: true,
  });
  server.on('secureConnection', (socket) => {
    sockets.add(socket);
    peers.set(socket, socket.getPeerCertificate());
    socket.once('close', () => sockets.delete(socket));
    aedes.handle(socket);
  });
  // AWS takes a few minutes to end the connection.
  options.registry?.onEnded((ended) => {
    for (const socket of sockets) {
      if (certificateOf(socket) === ended) socket.destroy();
    }
  });
  const port = await listen(server, { ...options, port: options.port ?? 0, host });

  return {
    host,
    port,
    publish: (topic, payload) => publish(aedes, topic, payload),
    stop: async () => {
      server.close();
      // Wait for the sockets: the `disconnected` event of a connection follows its socket's end.
      await Promise.all([...sockets].map((socket) => closeOf(socket, presence)));
      await new Promise<void>((resolve) => aedes.close(resolve));
      await presence.settled();
    },
  };
}

function createAedes(options: BrokerOptions, presence: Presence, log: Log): Aedes {
  const delivery = new Delivery();
  const admit = createAdmission(options, presence, delivery, log);
  const aedes = new Aedes({
    preConnect: (client, packet, callback) => {
      const peer = peers.get(socketOf(client));
      const isNamed = peer?.subject?.CN === packet.clientId && packet.clientId !== '';
      const isWho = isNamed && (options.registry?.admits(packet.clientId, peer.raw) ?? true);
      // AWS also ends the connection without a reason.
      if (!isWho) client.conn.destroy();
      callback(null, isWho);
    },
    authorizePublish: (client, packet, callback) => {
      admit(client, packet).then(() => {
        // The library now sends the message to subscribers of this topic; it has none.
        packet.topic = takenTopic;
        packet.retain = false;
        callback(null);
      }, callback);
    },
    authorizeSubscribe: (client, subscription, callback) =>
      // `null` instead of a subscription answers with a failure (0x80).
      callback(
        null,
        maySubscribe(options.stage, client.id, subscription.topic) ? subscription : null,
      ),
  });
  options.jobs?.connect(({ thing, topic, payload, qos }) =>
    delivery.enqueue(thing, () => publish(aedes, topic, payload, qos)),
  );
  aedes.on('keepaliveTimeout', (client) =>
    presence.blame(socketOf(client), 'MQTT_KEEP_ALIVE_TIMEOUT'),
  );
  // The library ends the older connection of a client and reports ends, but it forgets a client
  // whose older connection is still closing. So both events depend on the sockets.
  aedes.on('client', (client) =>
    presence.connected(client.id, socketOf(client), certificateOf(socketOf(client)), () =>
      ownReason(client),
    ),
  );
  // The library's types lack this event; without a listener it would end the process.
  (aedes as EventEmitter).on('error', (error: Error) => log.error('Broker failed', { error }));
  return aedes;
}

/** Takes a host's message, or throws: then the connection ends without an acknowledgement. */
function createAdmission(
  { stage, deliver, jobs }: BrokerOptions,
  presence: Presence,
  delivery: Delivery,
  log: Log,
) {
  return async (
    client: Client | null,
    packet: Parameters<AuthorizePublishHandler>[1],
  ): Promise<void> => {
    if (client === null) throw new Error('A message without a client.');
    const refuse = (reason: DisconnectReason, text: string, cause?: unknown): never => {
      presence.blame(socketOf(client), reason);
      log.warn(text, { thing: client.id, topic: packet.topic, cause });
      throw new Error(text, { cause });
    };
    if (!mayPublish(stage, client.id, packet.topic)) {
      refuse('FORBIDDEN_ACCESS', 'Publish refused: topic of another host');
    }
    const payload = Buffer.from(packet.payload);
    if (payload.length > reportBytesMax) {
      refuse('CLIENT_ERROR', `Publish refused: larger than ${reportBytesMax} bytes`);
    }
    if (packet.qos === 2) refuse('CLIENT_ERROR', 'Publish refused: QoS 2 is not supported');
    try {
      if (jobs !== undefined && isJobsTopic(client.id, packet.topic)) {
        jobs.receive(client.id, packet.topic, payload, (reply) =>
          delivery.enqueue(client.id, () => send(client, reply.topic, reply.payload)),
        );
        return;
      }
      await deliver(packet.topic, payload);
    } catch (error) {
      refuse('SERVER_ERROR', 'Delivery failed', error);
    }
  };
}

/** Sends to the subscribers of the topic. */
function publish(aedes: Aedes, topic: string, payload: string, qos?: 0): Promise<void> {
  return new Promise((resolve, reject) => {
    aedes.publish(packetOf(topic, payload, qos), (error) => (error ? reject(error) : resolve()));
  });
}

/** Sends to this client alone, subscribed or not. */
function send(client: Client, topic: string, payload: string): Promise<void> {
  return new Promise((resolve, reject) => {
    client.publish(packetOf(topic, payload), (error) => (error ? reject(error) : resolve()));
  });
}

function packetOf(topic: string, payload: string, qos: 0 | 1 = 1): PublishPacket {
  return { cmd: 'publish', topic, payload, qos, dup: false, retain: false };
}

async function closeOf(socket: TLSSocket, presence: Presence): Promise<void> {
  const closed = once(socket, 'close');
  presence.blame(socket, 'SERVER_INITIATED_DISCONNECT');
  socket.destroy();
  await closed;
}

function certificateOf(socket: TLSSocket): string {
  const { raw } = peers.get(socket) ?? socket.getPeerCertificate();
  return certificateId(new X509Certificate(raw));
}

/** The stream of a client is the socket that was given to the library. */
function socketOf(client: Client): TLSSocket {
  return client.conn as TLSSocket;
}

/** The library records a DISCONNECT packet, but does not expose it. */
function ownReason(client: Client): DisconnectReason {
  const saidGoodbye = (client as Client & { readonly _disconnected?: boolean })._disconnected;
  return saidGoodbye ? 'CLIENT_INITIATED_DISCONNECT' : 'CONNECTION_LOST';
}
