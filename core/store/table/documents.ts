// The two clients for DynamoDB. `documents` allows every read; `strong` refuses a read of an
// index, or one without consistency. Nova's calls use `strong`: the indexes of a local engine
// never lag, those of AWS do, and a bind that reads a stale row would claim a device twice.

import { setTimeout as sleep } from 'node:timers/promises';
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { DatabaseUnavailable, nameOutage } from './database-unavailable.ts';

export type Documents = DynamoDBDocumentClient;

export interface DocumentClients {
  readonly documents: Documents;
  readonly strong: Documents;
  close(): void;
}

/**
 * Attempts at a write that lost to a concurrent transaction; together they take about 3 s at
 * most.
 */
export const conflictAttemptsMax = 8;

/**
 * Milliseconds. DynamoDB answers within some tens; three attempts end before API Gateway gives up
 * after 30 s.
 */
const requestHandler = {
  connectionTimeout: 2000,
  requestTimeout: 5000,
  throwOnRequestTimeout: true,
} as const;

export function createDocuments(config: DynamoDBClientConfig = {}): DocumentClients {
  const made = { requestHandler, ...config };
  const clients = [new DynamoDBClient(made), new DynamoDBClient(made)] as const;
  const [documents, strong] = clients.map((client) => {
    nameOutages(client);
    retryConflicts(client);
    return DynamoDBDocumentClient.from(client, {
      marshallOptions: { removeUndefinedValues: true },
    });
  }) as [Documents, Documents];
  refuseWeakReads(clients[1]);
  return {
    documents,
    strong,
    close: () => {
      for (const client of clients) client.destroy();
    },
  };
}

/** Outside of the retries. @throws DatabaseUnavailable */
function nameOutages(client: DynamoDBClient): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      try {
        return await next(args);
      } catch (error) {
        throw isConflict(error) ? new DatabaseUnavailable(error) : nameOutage(error);
      }
    },
    { step: 'initialize', name: 'nameOutages', priority: 'high' },
  );
}

function retryConflicts(client: DynamoDBClient): void {
  const pause = (attempt: number) => sleep(conflictPauseMs(attempt, Math.random()));
  client.middlewareStack.add((next) => (args) => untilNoConflict(() => next(args), pause), {
    step: 'initialize',
    name: 'retryConflicts',
  });
}

/**
 * Full jitter: two writers that conflicted once should not conflict again.
 *
 * @param share from 0 to 1, at random
 */
export function conflictPauseMs(attempt: number, share: number): number {
  return share * Math.min(10 * 2 ** attempt, 1000);
}

/**
 * A write that meets another transaction on the same item fails with TransactionConflict, whether
 * or not its condition holds; DynamoDB expects a retry.
 * https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
 *
 * @param wait pause before the next attempt, from the number of attempts
 */
export async function untilNoConflict<T>(
  write: () => Promise<T>,
  wait: (attempt: number) => Promise<unknown>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await write();
    } catch (error) {
      if (!isConflict(error) || attempt === conflictAttemptsMax) throw error;
      await wait(attempt);
    }
  }
}

const passingReasons = [
  'None',
  'TransactionConflict',
  'ThrottlingError',
  'ProvisionedThroughputExceeded',
];

function isConflict(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  if (error.name === 'TransactionConflictException') return true;
  if (error.name === 'TransactionInProgressException') return true;
  if (error.name !== 'TransactionCanceledException') return false;
  const reasons = cancellationCodes(error);
  return (
    reasons.some((code) => code !== 'None') &&
    reasons.every((code) => passingReasons.includes(code))
  );
}

/**
 * Why each operation of a cancelled transaction failed, in their order; `None` where it did not.
 */
export function cancellationCodes(error: Error): string[] {
  const { CancellationReasons: reasons } = error as { CancellationReasons?: { Code?: string }[] };
  return (reasons ?? []).map((reason) => reason.Code ?? 'None');
}

function refuseWeakReads(client: DynamoDBClient): void {
  client.middlewareStack.add(
    (next, context) => async (args) => {
      refuseWeakRead(String(context.commandName), args.input as Record<string, unknown>);
      return next(args);
    },
    { step: 'initialize', name: 'refuseWeakReads' },
  );
}

/** @throws TypeError for a read of an index, or without consistency */
export function refuseWeakRead(command: string, input: Readonly<Record<string, unknown>>): void {
  if (!isWeakRead(command, input)) return;
  throw new TypeError(`${command} must be a consistent read of a base table.`);
}

function isWeakRead(command: string, input: Readonly<Record<string, unknown>>): boolean {
  switch (command) {
    case 'GetItemCommand':
      return input.ConsistentRead !== true;
    case 'QueryCommand':
      return input.ConsistentRead !== true || input.IndexName !== undefined;
    case 'BatchGetItemCommand': {
      const requests = Object.values((input.RequestItems ?? {}) as Record<string, object>);
      return requests.some(
        (request) => (request as { ConsistentRead?: boolean }).ConsistentRead !== true,
      );
    }
    case 'ScanCommand':
      return true;
    default:
      return false;
  }
}
