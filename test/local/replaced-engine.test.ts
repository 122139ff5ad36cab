// One variable gives the system another DynamoDB: its tables and their streams.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type LocalDynamoDb, startDynamoDb } from '#local/aws/dynamodb.ts';
import { announceHost } from '#local/demo/announce-host.ts';
import { client } from '#local/demo/demo-client.ts';
import { inventoryOf } from '#local/demo/demo-inventory.ts';
import { chooseLayout, type Layout, settingsOf, urlOf } from '#local/process/layout.ts';
import { type System, startSystem } from '#local/process/system.ts';
import { patience } from '#test/support/patience.ts';

let directory: string;
let other: LocalDynamoDb;
let layout: Layout;
let system: System | undefined;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'cyborg-replaced-'));
  other = await startDynamoDb();
  process.env.AWS_ENDPOINT_URL_DYNAMODB = other.url;
  layout = await chooseLayout({ stage: 'replaced', directory, anyPorts: true });
});
afterAll(async () => {
  await system?.stop();
  await other?.stop();
  rmSync(directory, { recursive: true, force: true, maxRetries: 3 });
});

it('names the other DynamoDB in the settings of the stage, for tables and streams', () => {
  expect(settingsOf(layout)).toMatchObject({
    AWS_ENDPOINT_URL_DYNAMODB: other.url,
    AWS_ENDPOINT_URL_DYNAMODB_STREAMS: other.url,
    AWS_ENDPOINT_URL_SQS: urlOf(layout, 'sqs'),
  });
});

it('tells Placement about a device whose change is in the other streams', async () => {
  const agents = [{ hostname: 'cmp1', drivers: 'fake' }];
  system = await startSystem({ layout, agents, restart: false });
  expect(system.processes).not.toContain('dynamodb');
  await announceHost(layout, 'cmp1');
  const placement = client(urlOf(layout, 'placement'));
  await expect
    .poll(async () => (await inventoryOf(placement, 'FakeDevice', 'FPGA'))?.total, patience)
    .toBe(16);
});
