// The connection to the broker; the only file that publishes or subscribes.
//
// Each connection is a client of its own, with certificates read anew (so they may be rotated),
// and without the client library's reconnecting: a message that was not acknowledged is not sent
// again but made again, from what the host looks like then.

import { readFile } from 'node:fs/promises';
import { connect, type IClientOptions, type MqttClient } from 'mqtt';
import { openTunnel } from './tunnel.ts';

/** A broker that refuses us may simply not answer, so every wait has an end. */
const connectMsMax = 20_000;
const acknowledgeMsMax = 20_000;
const endMsMax = 2_000;

/** In place of a quality of service in a SUBACK. */
const refusedCode = 0x80;

/** AWS declares a client gone after 1.5 times this; its pings cost nothing. */
const keepaliveSeconds = 30;

export interface ConnectionOptions {
  readonly host: string;
  readonly port: number;
  /** Names the client as well, so that a second connection of this host ends the first. */
  readonly thing: string;
  readonly certificateFile: string;
  readonly keyFile: string;
  /** Without it, the public authorities that Node trusts (Amazon's are among them). */
  readonly authorityFile?: string;
  /** URL of an HTTP proxy, where the broker is reached through one only. */
  readonly proxy?: string;
}

export type MessageListener = (topic: string, payload: Buffer) => void;

export interface Session {
  /** Resolves once the broker has acknowledged (QoS 1); rejects when that can no longer happen. */
  publish(topic: string, payload: string): Promise<void>;
  /** Resolves once the broker has granted all of these filters; AWS takes eight at a time. */
  subscribe(filters: readonly string[]): Promise<void>;
  /** Who is told of each message; what arrives before anyone listens is dropped. */
  onMessage(listener: MessageListener): void;
  /** Aborts when the connection is lost. */
  readonly lost: AbortSignal;
  end(): Promise<void>;
}

/** One attempt. @throws if there is no session within 20 s, or `stop` aborts before */
export async function openSession(options: ConnectionOptions, stop: AbortSignal): Promise<Session> {
  const client = connect(await clientOptions(options, stop));
  const lost = new AbortController();
  client.on('error', (error) => lost.abort(error));
  client.on('close', () => lost.abort(new Error('the connection was closed')));
  const listeners = new Set<MessageListener>();
  // Before the connection is there: a kept session brings its messages along.
  client.on('message', (topic, payload) => {
    for (const listener of listeners) listener(topic, payload);
  });
  try {
    const connected = new Promise<void>((resolve) => client.once('connect', () => resolve()));
    await unlessAborted(connected, AbortSignal.any([lost.signal, stop]));
  } catch (error) {
    client.end(true);
    throw error;
  }
  return {
    lost: lost.signal,
    publish: (topic, payload) => publish(client, lost.signal, topic, payload),
    subscribe: (filters) => subscribe(client, lost.signal, filters),
    onMessage: (listener) => void listeners.add(listener),
    end: () => end(client),
  };
}

async function clientOptions(
  options: ConnectionOptions,
  stop: AbortSignal,
): Promise<IClientOptions> {
  const { host, port, thing, certificateFile, keyFile, authorityFile, proxy } = options;
  const limits = AbortSignal.any([stop, AbortSignal.timeout(connectMsMax)]);
  return {
    protocol: 'mqtts',
    host,
    port,
    clientId: thing,
    // The broker keeps what it has for us while we are away.
    clean: false,
    keepalive: keepaliveSeconds,
    connectTimeout: connectMsMax,
    reconnectPeriod: 0,
    cert: await readFile(certificateFile),
    key: await readFile(keyFile),
    ...(authorityFile && { ca: await readFile(authorityFile) }),
    rejectUnauthorized: true,
    // On 443 AWS tells MQTT from HTTPS by this.
    ...(port === 443 && { ALPNProtocols: ['x-amzn-mqtt-ca'] }),
    // Handed on to TLS as it is. Last: nothing may fail once it is open.
    ...(proxy && { socket: await openTunnel(proxy, { host, port }, limits) }),
  };
}

async function publish(client: MqttClient, lost: AbortSignal, topic: string, payload: string) {
  const acknowledged = client.publishAsync(topic, payload, { qos: 1 });
  await unlessAborted(acknowledged, AbortSignal.any([lost, AbortSignal.timeout(acknowledgeMsMax)]));
}

async function subscribe(client: MqttClient, lost: AbortSignal, filters: readonly string[]) {
  const answered = client.subscribeAsync([...filters], { qos: 1 });
  const limits = AbortSignal.any([lost, AbortSignal.timeout(acknowledgeMsMax)]);
  const granted = await unlessAborted(answered, limits);
  const refused = granted.find(({ qos }) => qos >= refusedCode);
  if (refused) throw new Error(`the broker refuses ${refused.topic}`);
}

/** Says goodbye if it can; with a message still unacknowledged the library would wait for ever. */
async function end(client: MqttClient): Promise<void> {
  if (!client.connected || Object.keys(client.outgoing).length > 0) {
    client.end(true);
    return;
  }
  const closed = new Promise<void>((resolve) => client.once('close', () => resolve()));
  client.end();
  await unlessAborted(closed, AbortSignal.timeout(endMsMax)).catch(() => client.stream.destroy());
}

async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  // Nobody waits for it any more once the signal has won.
  work.catch(() => {});
  signal.throwIfAborted();
  let onAbort = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
