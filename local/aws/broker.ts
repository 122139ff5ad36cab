// AWS IoT Core's message broker on this machine: MQTT 3.1.1 over mutual TLS. A host is who its
// certificate says, and its client id must say the same.
//
// INVARIANTS
// - A message with QoS 1 is acknowledged only after `deliver` has taken it: whoever kills us in
//   between finds that the host sends it again. (The broker library acknowledges between its
//   authorizePublish and published hooks, so delivery happens in the first.)
// - What one host sends reaches no other: it goes to the rules, or to the jobs, whose answers go to
//   the one who asked.
// - Of one client id at most one connection is open; the newer one wins.
// - Each connection has one `connected` and one `disconnected` event.

import { X509Certificate } from 'node:crypto';
import { type EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type TLSSocket } from 'node:tls';
import { Aedes, type AuthorizePublishHandler, type Client, type PublishPacket } from 'aedes';
import { reportBytesMax } from '#core/contracts/inventory-report.ts';
import { type Log, silentLog } from '#core/log.ts';
import { type ListenOptions, listen, type Running } from '../process/ports.ts';
import { isJobsTopic, mayPublish, maySubscribe } from './broker-policy.ts';
import type { CertificateFiles } from './certificates.ts';
import { Delivery } from './iot-jobs/delivery.ts';
import type { DeviceJobs } from './iot-jobs/start.ts';
import { certificateId, type ThingRegistry } from './iot-registry/registry.ts';
import { type DisconnectReason, Presence } from './presence.ts';

/** Stands on what was taken from a host; no host may subscribe to it. */
const takenTopic = 'taken';

export interface BrokerOptions extends Partial<ListenOptions> {
  readonly stage: string;
  readonly certificates: CertificateFiles;
  /** Where messages go: the rules. While it rejects, nothing is acknowledged. */
  readonly deliver: (topic: string, payload: Buffer) => Promise<void>;
  /** Takes what hosts publish on their jobs topics; without it that goes to the rules as well. */
  readonly jobs?: DeviceJobs;
  /** Who may connect; without it, whoever has a certificate of the authority. */
  readonly registry?: ThingRegistry;
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
    // Without it each small answer waits for the acknowledgement of the one before: 130 ms a job.
    noDelay: true,
  });
  server.on('secureConnection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    aedes.handle(socket);
  });
  // AWS takes a few minutes for it.
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
      // Each connection's end is told of when its socket closes, and not before.
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
      const { subject, raw } = socketOf(client).getPeerCertificate();
      const isNamed = subject?.CN === packet.clientId && packet.clientId !== '';
      const isWho = isNamed && (options.registry?.admits(packet.clientId, raw) ?? true);
      // As AWS does: no reason given, the connection is gone.
      if (!isWho) client.conn.destroy();
      callback(null, isWho);
    },
    authorizePublish: (client, packet, callback) => {
      admit(client, packet).then(() => {
        // The library now brings it to whoever has subscribed; to this nobody can have.
        packet.topic = takenTopic;
        packet.retain = false;
        callback(null);
      }, callback);
    },
    authorizeSubscribe: (client, subscription, callback) =>
      // Without a subscription it is answered with a failure (0x80).
      callback(null, maySubscribe(client.id, subscription.topic) ? subscription : null),
  });
  options.jobs?.connect(({ thing, topic, payload }) =>
    delivery.bring(thing, () => publish(aedes, topic, payload)),
  );
  aedes.on('keepaliveTimeout', (client) =>
    presence.blame(socketOf(client), 'MQTT_KEEP_ALIVE_TIMEOUT'),
  );
  // The library ends the older connection of a client itself, and tells of ends; but it forgets a
  // client whose predecessor was still closing. So both hang on the sockets.
  aedes.on('client', (client) =>
    presence.connected(client.id, socketOf(client), certificateOf(socketOf(client)), () =>
      ownReason(client),
    ),
  );
  // Its types do not know of this event; unheard, it would end the process.
  (aedes as EventEmitter).on('error', (error: Error) => log.error('The broker failed.', { error }));
  return aedes;
}

/** Takes a host's message or throws, which ends the connection without acknowledging it. */
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
    if (client === null) throw new Error('Nobody published this.');
    const refuse = (reason: DisconnectReason, text: string, cause?: unknown): never => {
      presence.blame(socketOf(client), reason);
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
      if (jobs !== undefined && isJobsTopic(client.id, packet.topic)) {
        jobs.receive(client.id, packet.topic, payload, (reply) =>
          delivery.bring(client.id, () => send(client, reply.topic, reply.payload)),
        );
        return;
      }
      await deliver(packet.topic, payload);
    } catch (error) {
      refuse('SERVER_ERROR', 'A message could not be delivered.', error);
    }
  };
}

/** To whom has subscribed. */
function publish(aedes: Aedes, topic: string, payload: string): Promise<void> {
  return new Promise((resolve, reject) => {
    aedes.publish(packetOf(topic, payload), (error) => (error ? reject(error) : resolve()));
  });
}

/** To this client alone, subscribed or not. */
function send(client: Client, topic: string, payload: string): Promise<void> {
  return new Promise((resolve, reject) => {
    client.publish(packetOf(topic, payload), (error) => (error ? reject(error) : resolve()));
  });
}

function packetOf(topic: string, payload: string): PublishPacket {
  return { cmd: 'publish', topic, payload, qos: 1, dup: false, retain: false };
}

async function closeOf(socket: TLSSocket, presence: Presence): Promise<void> {
  const closed = once(socket, 'close');
  presence.blame(socket, 'SERVER_INITIATED_DISCONNECT');
  socket.destroy();
  await closed;
}

function certificateOf(socket: TLSSocket): string {
  return certificateId(new X509Certificate(socket.getPeerCertificate().raw));
}

/** It is one: we gave it to the library. */
function socketOf(client: Client): TLSSocket {
  return client.conn as TLSSocket;
}

/** The library notes a DISCONNECT packet, but does not show it. */
function ownReason(client: Client): DisconnectReason {
  const saidGoodbye = (client as Client & { readonly _disconnected?: boolean })._disconnected;
  return saidGoodbye ? 'CLIENT_INITIATED_DISCONNECT' : 'CONNECTION_LOST';
}
