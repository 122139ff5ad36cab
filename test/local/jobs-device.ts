// A device for AWS IoT Jobs: a plain MQTT client with a certificate, without the agent.

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect, type IClientOptions, type MqttClient } from 'mqtt';
import type { Certificates } from '#local/aws/certificates.ts';
import { eventually } from '#test/support/vitest/eventually.ts';

/** The fields of a message that tests read; the rest is compared as a whole. */
interface Body {
  readonly clientToken?: string;
  readonly execution?: object;
  readonly executionState?: { readonly versionNumber: number };
  readonly inProgressJobs?: readonly object[];
  readonly queuedJobs?: readonly object[];
}

export interface Message {
  readonly topic: string;
  readonly body: Body;
}

export interface Device {
  readonly client: MqttClient;
  /** All messages received, in order. */
  readonly messages: Message[];
  /** Publishes below the thing's `jobs/` and returns the answer. */
  ask(name: string, request?: object): Promise<Message>;
  /** Publishes the payload unchanged, without a token. */
  publish(name: string, payload: string | Buffer): Promise<void>;
  /** The bodies received on `jobs/<name>`. */
  on(name: string): Body[];
}

export async function connectDevice(
  broker: { readonly host: string; readonly port: number },
  certificates: Certificates,
  thing: string,
  options: IClientOptions & { readonly subscribe?: readonly string[] } = {},
): Promise<Device> {
  const { subscribe = ['notify', 'notify-next'], ...rest } = options;
  const files = certificates.issueHostCertificate(thing);
  const root = `$aws/things/${thing}/jobs`;
  const client = connect({
    protocol: 'mqtts',
    host: broker.host,
    port: broker.port,
    clientId: thing,
    ca: readFileSync(files.authorityFile),
    cert: readFileSync(files.certificateFile),
    key: readFileSync(files.keyFile),
    connectTimeout: 10_000,
    reconnectPeriod: 20,
    ...rest,
  });
  client.on('error', () => {});
  const messages: Message[] = [];
  client.on('message', (topic, payload) => {
    messages.push({ topic, body: JSON.parse(payload.toString()) });
  });
  await new Promise<void>((resolve) => client.once('connect', () => resolve()));
  for (const name of subscribe) await client.subscribeAsync(`${root}/${name}`, { qos: 1 });

  const publish = async (name: string, payload: string | Buffer) => {
    await client.publishAsync(`${root}/${name}`, payload, { qos: 1 });
  };
  return {
    client,
    messages,
    publish,
    ask: async (name, request = {}) => {
      const clientToken = randomUUID();
      const answer = () => messages.find(({ body }) => body.clientToken === clientToken);
      await publish(name, JSON.stringify({ ...request, clientToken }));
      await eventually(() => answer() !== undefined).toBe(true);
      return answer() as Message;
    },
    on: (name) =>
      messages.filter(({ topic }) => topic === `${root}/${name}`).map(({ body }) => body),
  };
}
