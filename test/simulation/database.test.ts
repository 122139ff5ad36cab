// The tables in memory answer every command of a few scenarios as the local engine does.
//
// @module-tag long

import { isDeepStrictEqual } from 'node:util';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createTables, type LocalDynamoDb, startDynamoDb } from '#local/aws/dynamodb/dynamodb.ts';
import type { Mirror, Outcome } from '#simulation/database/documents.ts';
import { runSeed } from '#simulation/scenarios/run.ts';
import { stage } from '#simulation/world/stage.ts';

const config = {
  region: 'us-east-1',
  credentials: { accessKeyId: 'any', secretAccessKey: 'any' },
};
let engine: LocalDynamoDb;
let client: DynamoDBDocumentClient;

beforeEach(async () => {
  engine = await startDynamoDb();
  const tables = new DynamoDBClient({ ...config, endpoint: engine.url });
  await createTables(tables, stage);
  client = DynamoDBDocumentClient.from(tables, {
    marshallOptions: { removeUndefinedValues: true },
  });
});

afterEach(async () => {
  client.destroy();
  await engine.stop();
});

/** Sorts the rows: a batch has no order, nor have rows with equal sort keys. */
function comparable(answer: unknown): unknown {
  const { Item, Items, Responses } = (answer ?? {}) as {
    Item?: object;
    Items?: object[];
    Responses?: Record<string, object[]>;
  };
  const sorted = (rows: object[]) => rows.map((row) => sortedKeys(row)).sort();
  return {
    ...(Item && { Item: sortedKeys(Item) }),
    ...(Items && { Items: sorted(Items) }),
    ...(Responses && { rows: Object.values(Responses).map(sorted) }),
  };
}

function sortedKeys(row: object): string {
  return JSON.stringify(row, (_key, value) =>
    value && typeof value === 'object' && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}

async function outcomeOf(work: Promise<unknown>): Promise<Outcome> {
  return work.then(
    (answer) => ({ answer }),
    (error: Error) => ({ error }),
  );
}

function spelled(outcome: Outcome): unknown {
  if ('answer' in outcome) return comparable(outcome.answer);
  const { name, CancellationReasons: reasons } = outcome.error as Error & {
    CancellationReasons?: { Code?: string }[];
  };
  return { error: name, codes: reasons?.map(({ Code }) => Code ?? 'None') };
}

const title = 'answers the commands of seed %i as the engine does';

it.each([11])(`a sample: ${title}`, compareCommands);

it.each([3, 126])(title, { tags: ['long'] }, compareCommands);

async function compareCommands(seed: number): Promise<void> {
  const differences: unknown[] = [];
  let commands = 0;
  const mirror: Mirror = async (command, outcome) => {
    commands += 1;
    const [ours, theirs] = [outcome, await outcomeOf(client.send(command as never))].map(spelled);
    if (!isDeepStrictEqual(ours, theirs)) differences.push({ command, ours, theirs });
  };
  const { violation } = await runSeed(seed, { mirror });
  expect([violation, differences]).toEqual([undefined, []]);
  expect(commands).toBeGreaterThan(300);
}
