// Counts the billed units of AWS in the product's own clients and functions; see
// test/integration/counted-units.test.ts.

import { AsyncLocalStorage } from 'node:async_hooks';
import { type DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient, type PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { DynamoDBRecord } from 'aws-lambda';
import { expect, vi } from 'vitest';
import type { createNova } from '#core/clients/openstack/nova.ts';
import type { StreamConsumerName } from '#core/contracts/queues/queues.ts';
import type { Row } from '#core/store/rows/rows.ts';
import type { createDocuments } from '#core/store/table/documents.ts';
import { tableName } from '#core/store/table/tables.ts';
import type { queueConsumer } from '#functions/consumers/batch/queue-consumer.ts';
import type { StreamHandler } from '#functions/consumers/changes.ts';
import { type FunctionName, traced } from '#infra/access.ts';
import { noUnits, type Units } from '#infra/cost/counted-units.ts';
import type { ChangePatterns } from '#infra/stack/stream-filters.ts';
import { invokes, type Table } from '#simulation/stream-filter.ts';
import { eventually } from '#test/support/vitest/eventually.ts';

/** Since the last reset. */
export const counts: { -readonly [Unit in keyof Units]: number } = { ...noUnits };
/** Messages sent by queue, and how many are not deleted yet. */
export const queued = { sent: {} as Record<string, number>, underWay: 0 };
/** The marks that each reader of the streams has reached in each table. */
const marks: string[] = [];

export function noteInvoked(name: string, count = 1): void {
  if (traced.includes(name as FunctionName)) counts.traceable += count;
}

export function noteSent(queue: string, count: number): void {
  counts.messages += count;
  if (queue === 'nova-events') counts.novaEvents += count;
  noteInvoked(queue, count);
  queued.underWay += count;
  queued.sent[queue] = (queued.sent[queue] ?? 0) + count;
}

const working = new AsyncLocalStorage<{ hasCalled: boolean }>();

/** The frame of the consumers, which counts the messages whose work calls OpenStack. */
export function countCalling(frame: { readonly queueConsumer: typeof queueConsumer }) {
  const send = globalThis.fetch;
  vi.spyOn(globalThis, 'fetch').mockImplementation((...given) => {
    const state = working.getStore();
    if (state) state.hasCalled = true;
    return send(...given);
  });
  const createCountedConsumer: typeof queueConsumer = (queue, schema, work, ...more) => {
    const countedWork: typeof work = async (...given) => {
      const state = { hasCalled: false };
      await working.run(state, () => work(...given));
      if (state.hasCalled) counts.calling += 1;
    };
    return frame.queueConsumer(queue, schema, countedWork, ...more);
  };
  return { ...frame, queueConsumer: createCountedConsumer };
}

/** Nova's client: each server is on a host when it is looked at. */
export function serversOnHosts(client: { readonly createNova: typeof createNova }) {
  const createNovaWithServers: typeof createNova = (options) => {
    const nova = client.createNova(options);
    return {
      ...nova,
      server: async (uuid) => {
        await nova.server(uuid);
        return { projectId: 'demo', host: 'any' };
      },
    };
  };
  return { ...client, createNova: createNovaWithServers };
}

interface ConsumedOfTable {
  readonly TableName?: string;
  readonly CapacityUnits?: number;
}
type Consumed = ConsumedOfTable | readonly ConsumedOfTable[];

/** Adds up the consumed capacity that DynamoDB returns for each command. */
export function countCapacity(client: DynamoDBDocumentClient): void {
  client.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        Object.assign(args.input, { ReturnConsumedCapacity: 'TOTAL' });
        const result = await next(args);
        const { ConsumedCapacity } = result.output as { ConsumedCapacity?: Consumed };
        const isRead = /^(Get|BatchGet|Query|TransactGet)/.test(String(commandName));
        for (const each of [ConsumedCapacity ?? []].flat()) {
          counts[isRead ? 'reads' : 'writes'] += each.CapacityUnits ?? 0;
          if (!isRead && each.TableName?.endsWith('-history')) {
            counts.recorded += each.CapacityUnits ?? 0;
            noteKept(args.input);
          }
        }
        return result;
      },
    { step: 'initialize', name: 'countUnits', priority: 'low' },
  );
}

/** Bytes of the history in a table are names and values, and a hundred more for each item. */
let keptByteDays = 0;

function noteKept(input: object): void {
  const { Item: item } = input as { readonly Item?: Row };
  // The rows of the fleet's metrics are replaced.
  if (!item || String(item.pk).startsWith('FLEET#')) return;
  const days = (Number(item.expires_at) - Date.parse(String(item.sk).slice(0, 24)) / 1000) / 86_400;
  const bytes = Object.entries(item).reduce(
    (sum, [name, value]) => sum + name.length + String(value).length,
    100,
  );
  keptByteDays += bytes * Math.round(days);
  counts.keptKilobyteDays = Math.round(keptByteDays / 1024 / 100) * 100;
}

/** Starts again from zero. */
export function resetCounts(): void {
  keptByteDays = 0;
  for (const unit of Object.keys(counts)) counts[unit as keyof Units] = 0;
}

/** Passes the records one at a time: two records together may make one message instead of two. */
export function eachByItself(
  reader: StreamConsumerName,
  handler: StreamHandler,
  patterns: ChangePatterns,
): StreamHandler {
  return async ({ Records }, context) => {
    for (const record of Records) {
      const mark = record.dynamodb?.Keys?.pk?.S;
      if (mark?.startsWith('MARK#')) marks.push(`${reader} ${mark}`);
      if (!isLetThrough(record, patterns)) continue;
      counts[reader === 'changes' ? 'changes' : 'announced'] += 1;
      noteInvoked(reader);
      const { batchItemFailures } = await handler({ Records: [record] }, context);
      expect(batchItemFailures).toEqual([]);
    }
    return { batchItemFailures: [] };
  };
}

function isLetThrough(
  { eventSourceARN, dynamodb }: DynamoDBRecord,
  patterns: ChangePatterns,
): boolean {
  const table = /table\/test-([a-z-]+)\//.exec(eventSourceARN ?? '')?.[1] as Table;
  const rowOf = (image: unknown) => image && unmarshall(image as Parameters<typeof unmarshall>[0]);
  const before = rowOf(dynamodb?.OldImage) as Row | undefined;
  const after = rowOf(dynamodb?.NewImage) as Row | undefined;
  return invokes({ table, ...(before && { before }), ...(after && { after }) }, patterns);
}

export function countCommands(): void {
  const sendS3 = S3Client.prototype.send;
  vi.spyOn(S3Client.prototype, 'send').mockImplementation(function (this: S3Client, ...given) {
    const isPut = given[0] instanceof PutObjectCommand;
    counts[isPut ? 'objectsPut' : 'objectsRead'] += 1;
    return Reflect.apply(sendS3, this, given);
  });
  const sendEvents = EventBridgeClient.prototype.send;
  vi.spyOn(EventBridgeClient.prototype, 'send').mockImplementation(function (
    this: EventBridgeClient,
    ...given
  ) {
    const { input } = given[0] as object as PutEventsCommand;
    counts.events += input.Entries?.length ?? 0;
    return Reflect.apply(sendEvents, this, given);
  });
  const sendSqs = SQSClient.prototype.send;
  vi.spyOn(SQSClient.prototype, 'send').mockImplementation(function (this: SQSClient, ...given) {
    const command = given[0] as object as { readonly input: { readonly Entries?: unknown[] } };
    if (command instanceof ChangeMessageVisibilityBatchCommand) {
      counts.leased += command.input.Entries?.length ?? 0;
    }
    const answer = Reflect.apply(sendSqs, this, given) as unknown as Promise<unknown>;
    if (!(command instanceof DeleteMessageBatchCommand)) return answer as never;
    return answer.then((result) => {
      queued.underWay -= command.input.Entries?.length ?? 0;
      return result;
    }) as never;
  });
}

/** Metric lines in the form in which CloudWatch finds them in the log. */
export const metricLines: string[] = [];

/** The other lines of the functions. */
export const logLines: string[] = [];

export function countLines(): void {
  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write.bind(stream);
    vi.spyOn(stream, 'write').mockImplementation((...given) => {
      const line = given[0].toString();
      const isMetric = line.startsWith('{"_aws"');
      if (!isMetric && !line.startsWith('{"level"')) return Reflect.apply(write, stream, given);
      counts[isMetric ? 'metricLines' : 'logLines'] += 1;
      (isMetric ? metricLines : logLines).push(line);
      return true;
    });
  }
}

/** Resolves when both readers have reached a row that this function writes to both tables. */
export async function streamsRead(tables: DynamoDBClient): Promise<void> {
  const pk = `MARK#${crypto.randomUUID()}`;
  for (const table of ['arqs', 'inventory'] as const) {
    const Item = { pk: { S: pk }, sk: { S: pk } };
    await tables.send(new PutItemCommand({ TableName: tableName('test', table), Item }));
  }
  await eventually(() => marks.filter((mark) => mark.endsWith(pk)).sort()).toEqual(
    ['announcements', 'announcements', 'changes', 'changes'].map((reader) => `${reader} ${pk}`),
  );
}

/** The module `#core/store/table/documents.ts`, whose clients are counted; for `vi.mock`. */
export async function countDocuments(original: () => Promise<unknown>): Promise<object> {
  const documents = (await original()) as { readonly createDocuments: typeof createDocuments };
  const createCounted: typeof createDocuments = (config) => {
    const clients = documents.createDocuments(config);
    for (const client of [clients.documents, clients.strong]) countCapacity(client);
    return clients;
  };
  return { ...documents, createDocuments: createCounted };
}
