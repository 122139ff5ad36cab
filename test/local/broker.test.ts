import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { connect as connectMqtt, type IClientOptions, type MqttClient } from 'mqtt';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  type PresenceEvent,
  presenceEvent,
  ruleEnvelope,
} from '#core/contracts/queues/queue-messages.ts';
import type { QueueName } from '#core/contracts/queues/queues.ts';
import { inventoryTopic } from '#core/contracts/topics.ts';
import { type LocalBroker, startBroker } from '#local/aws/broker.ts';
import {
  type CertificateFiles,
  type Certificates,
  openCertificates,
} from '#local/aws/certificates.ts';
import { createRuleEngine } from '#local/aws/iot-rules.ts';
import { createQueues, startQueues } from '#local/aws/queues.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { directoryPerFile } from '#test/support/vitest/shared.ts';
import { sqsAt } from './clients.ts';

const directory = directoryPerFile();
let certificates: Certificates;
let broker: LocalBroker;

/** The messages that reached the rules. */
let delivered: { topic: string; payload: string }[];
let deliver: (topic: string, payload: Buffer) => Promise<void>;
const clients: MqttClient[] = [];

beforeAll(() => {
  certificates = openCertificates(directory);
});

beforeEach(async () => {
  delivered = [];
  deliver = async (topic, payload) => void delivered.push({ topic, payload: payload.toString() });
  broker = await startBroker({
    stage: 'test',
    certificates: certificates.server,
    deliver: (topic, payload) => deliver(topic, payload),
  });
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.end(true);
  await broker.stop();
});

function connect(
  clientId: string,
  options: IClientOptions & { as?: CertificateFiles | null } = {},
): Promise<MqttClient> {
  const { as = certificates.issueHostCertificate(clientId), ...rest } = options;
  const client = connectMqtt({
    protocol: 'mqtts',
    host: broker.host,
    port: broker.port,
    clientId,
    ca: readFileSync(certificates.server.authorityFile),
    ...(as && { cert: readFileSync(as.certificateFile), key: readFileSync(as.keyFile) }),
    reconnectPeriod: 0,
    connectTimeout: 10_000,
    ...rest,
  });
  clients.push(client);
  client.on('error', () => {});
  return new Promise((resolve, reject) => {
    client.once('connect', () => resolve(client));
    client.once('close', () => reject(new Error('The broker closed the connection.')));
  });
}

function closing(client: MqttClient): Promise<void> {
  return new Promise((resolve) => client.once('close', () => resolve()));
}

function presence(kind: PresenceEvent['eventType']): PresenceEvent[] {
  return delivered
    .filter(({ topic }) => topic.startsWith(`$aws/events/presence/${kind}/`))
    .map(({ payload }) => presenceEvent.parse(JSON.parse(payload)));
}

const inventory = inventoryTopic('test', 'node-1');

it('refuses a connection without a certificate', async () => {
  await expect(connect('node-1', { as: null })).rejects.toThrow();
  expect(delivered).toEqual([]);
});

it('refuses a certificate of another authority', async () => {
  const other = openCertificates(join(directory, 'other')).issueHostCertificate('node-1');
  await expect(connect('node-1', { as: other })).rejects.toThrow();
});

it('refuses a client id of another host, and keeps that host connected', async () => {
  const rightful = await connect('node-1');
  const other = certificates.issueHostCertificate('node-2');
  await expect(connect('node-1', { as: other })).rejects.toThrow();
  await rightful.publishAsync(inventory, 'still here', { qos: 1 });
  expect(delivered.at(-1)).toEqual({ topic: inventory, payload: 'still here' });
});

it.each([
  ['to a topic of another host', inventoryTopic('test', 'node-2'), 'x'],
  ['a lifecycle event', '$aws/events/presence/connected/node-1', 'x'],
  ['a message over 128 KB', inventory, 'x'.repeat(128 * 1024 + 1)],
])('disconnects a host that publishes %s', async (_what, topic, payload) => {
  const client = await connect('node-1');
  const closed = closing(client);
  client.publish(topic, payload, { qos: 1 });
  await closed;
  await eventually(() => presence('disconnected').length).toBe(1);
  expect(
    delivered.filter((message) => message.topic === topic && message.payload === payload),
  ).toEqual([]);
});

it('accepts a message of 128 KB', async () => {
  const client = await connect('node-1');
  await client.publishAsync(inventory, 'x'.repeat(128 * 1024), { qos: 1 });
  expect(delivered.at(-1)?.payload).toHaveLength(128 * 1024);
});

it('refuses a subscription to a topic of another host', async () => {
  const client = await connect('node-1');
  await expect(
    client.subscribeAsync('$aws/things/node-2/jobs/notify', { qos: 1 }),
  ).rejects.toThrow();
  await client.subscribeAsync('$aws/things/node-1/jobs/notify', { qos: 1 });
});

it('acknowledges only after the message was delivered', async () => {
  const gate = Promise.withResolvers<void>();
  const client = await connect('node-1');
  await eventually(() => presence('connected').length).toBe(1);
  let hasArrived = false;
  let isAcknowledged = false;
  deliver = () => {
    hasArrived = true;
    return gate.promise;
  };
  const publishing = client.publishAsync(inventory, 'report', { qos: 1 }).then(() => {
    isAcknowledged = true;
  });
  await eventually(() => hasArrived).toBe(true);
  // Wait for a round trip, in which an early acknowledgement would have come.
  const other = await connect('node-2');
  await other.subscribeAsync('$aws/things/node-2/jobs/notify', { qos: 1 });
  expect(isAcknowledged).toBe(false);
  gate.resolve();
  await publishing;
});

it('acknowledges a message that failed to be delivered only after its retry', async () => {
  const client = await connect('node-1', { clean: false, reconnectPeriod: 20 });
  await eventually(() => presence('connected').length).toBe(1);
  const record = deliver;
  deliver = () => Promise.reject(new Error('queue unavailable'));
  let isAcknowledged = false;
  const closed = closing(client);
  client.publish(inventory, 'report', { qos: 1 }, () => {
    isAcknowledged = true;
  });
  await closed;
  expect(isAcknowledged).toBe(false);

  deliver = record;
  await eventually(() => isAcknowledged).toBe(true);
  expect(delivered.filter(({ payload }) => payload === 'report')).toHaveLength(1);
});

it('reports the begin and end of each connection, with one identity for both', async () => {
  const client = await connect('node-1');
  await eventually(() => presence('connected').length).toBe(1);
  await client.endAsync();
  await eventually(() => presence('disconnected').length).toBe(1);
  const [begin] = presence('connected');
  const [end] = presence('disconnected');
  expect(begin).toMatchObject({ clientId: 'node-1', eventType: 'connected' });
  expect(end).toMatchObject({
    clientId: 'node-1',
    disconnectReason: 'CLIENT_INITIATED_DISCONNECT',
    sessionIdentifier: begin?.sessionIdentifier,
    versionNumber: begin?.versionNumber,
  });

  const again = await connect('node-1');
  again.stream.destroy();
  await eventually(() => presence('disconnected').length).toBe(2);
  expect(presence('disconnected')[1]?.disconnectReason).toBe('CONNECTION_LOST');
  expect(presence('connected')[1]?.versionNumber).toBeGreaterThan(begin?.versionNumber ?? NaN);
});

it('ends the older connection when a host connects twice', async () => {
  const first = await connect('node-1');
  const closed = closing(first);
  const second = await connect('node-1');
  await closed;
  await second.publishAsync(inventory, 'mine now', { qos: 1 });
  await eventually(() => presence('disconnected').length).toBe(1);
  expect(presence('connected')).toHaveLength(2);
  expect(presence('disconnected')[0]).toMatchObject({
    disconnectReason: 'DUPLICATE_CLIENTID',
    versionNumber: presence('connected')[0]?.versionNumber,
  });
});

it('keeps messages for a disconnected host', async () => {
  const topic = '$aws/things/node-1/jobs/notify';
  const first = await connect('node-1', { clean: false });
  await first.subscribeAsync(topic, { qos: 1 });
  await first.endAsync();
  await eventually(() => presence('disconnected').length).toBe(1);
  await broker.publish(topic, 'while you were away');

  const received: string[] = [];
  first.on('message', (_topic, payload) => received.push(payload.toString()));
  first.reconnect();
  await eventually(() => received).toEqual(['while you were away']);
});

it('delivers reports and presence to their queues in the envelope of the rules', async () => {
  const engine = await startQueues();
  const sqs = sqsAt(engine.url);
  const queueUrls = await createQueues(sqs, 'test');
  const rules = createRuleEngine({ stage: 'test', sqs, queueUrls });
  deliver = rules.deliver;
  const take = async (queue: QueueName) => {
    const command = new ReceiveMessageCommand({ QueueUrl: queueUrls[queue], WaitTimeSeconds: 10 });
    const { Messages = [] } = await sqs.send(command);
    return ruleEnvelope.parse(JSON.parse(Messages[0]?.Body ?? '{}'));
  };

  const client = await connect('test:node-1:example');
  const connected = await take('host-presence');
  expect(connected.thing).toBe('test:node-1:example');
  expect(JSON.parse(Buffer.from(connected.payload, 'base64').toString())).toMatchObject({
    clientId: 'test:node-1:example',
    eventType: 'connected',
  });

  await client.publishAsync(inventoryTopic('test', 'test:node-1:example'), '{"report":1}', {
    qos: 1,
  });
  expect(await take('inventory-reports')).toMatchObject({
    thing: 'test:node-1:example',
    topic: 'test/hosts/test:node-1:example/inventory',
    payload: Buffer.from('{"report":1}').toString('base64'),
  });

  await client.endAsync();
  await take('host-presence');
  await engine.stop();
  await expect(rules.deliver(inventory, Buffer.from('x'))).rejects.toThrow('Action of rule');
});
