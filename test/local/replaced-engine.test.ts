// A variable gives the system another DynamoDB, with its tables and their streams, or another S3,
// with its bucket.

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type LocalDynamoDb, startDynamoDb } from '#local/aws/dynamodb/dynamodb.ts';
import { announceHost } from '#local/demo/announce-host.ts';
import { client } from '#local/demo/demo-client.ts';
import { inventoryOf } from '#local/demo/demo-inventory.ts';
import { chooseLayout, type Layout, settingsOf, urlOf } from '#local/process/layout.ts';
import { type System, startSystem } from '#local/process/system.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { directoryPerFile } from '#test/support/vitest/shared.ts';

const directory = directoryPerFile();
let other: LocalDynamoDb;
let otherS3: Server;
const created: string[] = [];
let layout: Layout;
let system: System | undefined;

beforeAll(async () => {
  other = await startDynamoDb();
  process.env.AWS_ENDPOINT_URL_DYNAMODB = other.url;
  otherS3 = createServer((request, response) => {
    created.push(`${request.method} ${request.url}`);
    response.end();
  }).listen(0, '127.0.0.1');
  await once(otherS3, 'listening');
  process.env.AWS_ENDPOINT_URL_S3 = `http://127.0.0.1:${(otherS3.address() as AddressInfo).port}`;
  layout = await chooseLayout({ stage: 'replaced', directory, anyPorts: true });
});

afterAll(async () => {
  await system?.stop();
  await other?.stop();
  otherS3?.close();
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
  expect(system.processes).not.toContain('s3');
  expect(created).toEqual([expect.stringMatching(/^PUT \/replaced-cyborg-staging\b/)]);
  await announceHost(layout, 'cmp1');
  const placement = client(urlOf(layout, 'placement'));
  await eventually(async () => (await inventoryOf(placement, 'FakeDevice', 'FPGA'))?.total).toBe(
    16,
  );
});
