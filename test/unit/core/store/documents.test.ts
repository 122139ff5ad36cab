import {
  TransactionCanceledException,
  TransactionConflictException,
  TransactionInProgressException,
} from '@aws-sdk/client-dynamodb';
import {
  BatchGetCommand,
  GetCommand,
  PutCommand,
  QueryCommand,
  ScanCommand,
  TransactWriteCommand,
} from '@aws-sdk/lib-dynamodb';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  createDocuments,
  type DocumentClients,
  type Documents,
} from '#core/store/table/documents.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startTables } from './local-tables.ts';

const config = {
  region: 'us-east-1',
  credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
};
const facts = { $metadata: {}, message: 'from DynamoDB' };

function cancelled(...codes: string[]): Error {
  const CancellationReasons = codes.map((Code) => ({ Code }));
  return new TransactionCanceledException({ ...facts, CancellationReasons });
}

const write = new TransactWriteCommand({
  TransactItems: [{ Put: { TableName: 'test-arqs', Item: { pk: 'ARQ#1' } } }],
});

describe('a write that met another transaction', () => {
  let clients: DocumentClients;
  beforeEach(() => {
    clients = createDocuments(config);
    // The pauses do not matter here.
    vi.spyOn(Math, 'random').mockReturnValue(0);
  });
  afterEach(() => {
    vi.restoreAllMocks();
    clients.close();
  });

  /**
   * Makes DynamoDB answer with these errors in turn, and then accept. Returns the number of
   * attempts.
   */
  function answering(client: Documents, errors: readonly Error[]): () => number {
    let attempts = 0;
    client.middlewareStack.add(
      () => async () => {
        const error = errors[attempts++];
        if (error) throw error;
        return { output: { $metadata: {} }, response: {} };
      },
      { step: 'build' },
    );
    return () => attempts;
  }

  it.each([
    ['cancelled by a conflict', cancelled('None', 'TransactionConflict')],
    ['cancelled by a throttle', cancelled('ThrottlingError', 'None')],
    ['in conflict with a transaction', new TransactionConflictException(facts)],
    ['still in progress', new TransactionInProgressException(facts)],
  ])('is tried again when it was %s', async (_what, error) => {
    for (const client of [clients.documents, clients.strong]) {
      const attempts = answering(client, [error, error]);
      await client.send(write);
      expect(attempts()).toBe(3);
    }
  });

  it('fails after the last attempt, with the cause', async () => {
    const conflict = cancelled('TransactionConflict');
    const attempts = answering(clients.strong, Array(100).fill(conflict));
    await expect(clients.strong.send(write)).rejects.toMatchObject({
      name: 'DatabaseUnavailable',
      cause: conflict,
    });
    expect(attempts()).toBe(8);
  });

  it.each([
    ['its condition did not hold', cancelled('ConditionalCheckFailed', 'None')],
    [
      'a condition failed beside a conflict',
      cancelled('ConditionalCheckFailed', 'TransactionConflict'),
    ],
    ['it was malformed', cancelled('ValidationError')],
    ['no reason was given', cancelled('None')],
    ['something else failed', new Error('no route to host')],
  ])('is not tried again when %s', async (_why, error) => {
    const attempts = answering(clients.strong, [error]);
    await expect(clients.strong.send(write)).rejects.toBe(error);
    expect(attempts()).toBe(1);
  });

  it('waits for random, growing times, and three seconds at most in all', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(1);
    vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
    try {
      answering(clients.strong, Array(7).fill(cancelled('TransactionConflict')));
      const startedAt = performance.now();
      const sent = clients.strong.send(write);
      await vi.runAllTimersAsync();
      await sent;
      expect(performance.now() - startedAt).toBeLessThan(3500);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("reads on Nova's path", () => {
  const clients = perFile(startTables);
  beforeAll(() =>
    clients.strong.send(new PutCommand({ TableName: 'test-arqs', Item: { pk: 'ARQ#1' } })),
  );

  const at = { TableName: 'test-arqs' };
  const byKey = {
    KeyConditionExpression: 'pk = :pk',
    ExpressionAttributeValues: { ':pk': 'ARQ#1' },
  };
  const byKind = {
    IndexName: 'by-kind',
    KeyConditionExpression: 'kind = :kind',
    ExpressionAttributeValues: { ':kind': 'arq' },
  };

  it.each([
    ['a row', new GetCommand({ ...at, Key: { pk: 'ARQ#1' } })],
    ['rows', new BatchGetCommand({ RequestItems: { 'test-arqs': { Keys: [{ pk: 'ARQ#1' }] } } })],
    ['a partition', new QueryCommand({ ...at, ...byKey })],
    ['an index', new QueryCommand({ ...at, ...byKind })],
    ['an index, consistently', new QueryCommand({ ...at, ...byKind, ConsistentRead: true })],
    ['a table', new ScanCommand({ ...at, ConsistentRead: true })],
  ])('are refused where they may be stale: %s', async (_what, command) => {
    // The types of the commands have only the sending in common.
    const send = (client: Documents) => client.send(command as GetCommand);
    await expect(send(clients.strong)).rejects.toThrow(/must be a consistent read of a base table/);
    // The client for listings may read anything that DynamoDB allows.
    if (_what !== 'an index, consistently') await send(clients.documents);
  });

  it.each([
    ['a row', new GetCommand({ ...at, Key: { pk: 'ARQ#1' }, ConsistentRead: true })],
    [
      'rows',
      new BatchGetCommand({
        RequestItems: { 'test-arqs': { Keys: [{ pk: 'ARQ#1' }], ConsistentRead: true } },
      }),
    ],
    ['a partition', new QueryCommand({ ...at, ...byKey, ConsistentRead: true })],
  ])('are answered where they are consistent: %s', async (_what, command) => {
    const answer = await clients.strong.send(command as GetCommand);
    expect(JSON.stringify(answer)).toContain('ARQ#1');
  });
});
