// The connection to the broker. Only this file publishes or subscribes.
//
// Each connection is a new client with freshly read certificates, so that they can be rotated,
// and without the client library's reconnect: an unacknowledged report is not resent but composed
// from the host's current state.

import { connect, type IClientOptions, type MqttClient } from 'mqtt';
import { type BrokerOptions, brokerTls, connectMsMax } from './broker-tls.ts';

/** A broker that refuses the client may not answer at all, so every wait is limited. */
const acknowledgeMsMax = 20_000;
const endMsMax = 2_000;

/** The code of a refused subscription in a SUBACK. */
const refusedCode = 0x80;

/** AWS declares a client gone after 1.5 times this interval; pings are free. */
const keepaliveSeconds = 30;

interface ConnectionOptions extends BrokerOptions {
  /** Also the client id, so that a second connection of this host ends the first. */
  readonly thing: string;
}

export type MessageListener = (topic: string, payload: Buffer) => void;

export interface Session {
  /** Resolves once the broker has acknowledged (QoS 1); rejects when that can no longer happen. */
  publish(topic: string, payload: string): Promise<void>;
  /** Resolves once the broker has granted all of these filters; AWS takes eight at a time. */
  subscribe(filters: readonly string[]): Promise<void>;
  /** Sets the listener; messages that arrive before are dropped. */
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
  // Registered before the connection: a kept session delivers messages at once.
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
  const limits = AbortSignal.any([stop, AbortSignal.timeout(connectMsMax)]);
  return {
    protocol: 'mqtts',
    clientId: options.thing,
    // The broker keeps messages for the host while the agent is disconnected.
    clean: false,
    keepalive: keepaliveSeconds,
    connectTimeout: connectMsMax,
    reconnectPeriod: 0,
    // Passed on unchanged. Last, because no step may fail once the tunnel is open.
    ...(await brokerTls(options, limits)),
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

/**
 * Disconnects gracefully if possible; with an unacknowledged message the library would wait for
 * ever.
 */
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
  // The result is no longer used once the signal has won.
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
