// What callers see while DynamoDB is away, throttles, fails or does not answer.

import type { ServerResponse } from 'node:http';
import { GetCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, describe, expect, it } from 'vitest';
import { createDocuments } from '#core/store/table/documents.ts';
import { serveHttp } from '#test/support/http-server.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const failure = (status: number, name: string) => (response: ServerResponse) =>
  response
    .writeHead(status, { 'content-type': 'application/x-amz-json-1.0' })
    .end(JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${name}`, message: 'no' }));

let answer: (response: ServerResponse) => unknown = () => {};

const world = perFile(startWorld);
const database = perFile(() => serveHttp((_request, response) => answer(response)));

beforeAll(() => {
  // The functions make their clients at their first request.
  process.env.AWS_ENDPOINT_URL_DYNAMODB = database.url;
});

const calls: [string, string, object | undefined][] = [
  ['GET', '/v2/device_profiles', undefined],
  ['GET', '/v2/accelerator_requests?instance=aaaaaaaa-0000-4000-8000-000000000001', undefined],
  ['POST', '/v2/accelerator_requests', { device_profile_name: 'gpu' }],
  ['GET', '/v2/devices', undefined],
  ['GET', '/operator/v1/hosts', undefined],
];

async function expectUnavailable(): Promise<void> {
  const answers = calls.map(async ([method, path, body]) => {
    const { status, headers, json } = await world.ask(method, path, { ...(body && { body }) });
    expect([path, status, headers.get('retry-after')]).toEqual([path, 503, '1']);
    const fault = JSON.parse(json.error_message);
    expect(fault.faultstring).toBe('DynamoDB cannot be asked right now.');
  });
  await Promise.all(answers);
}

describe('each call answers 503 with Retry-After and the name of the database', () => {
  it.each<[string, typeof answer]>([
    ['closes the connection', (response) => response.destroy()],
    ['answers with an internal error', failure(500, 'InternalServerError')],
    ['is a gateway without a backend', (response) => response.writeHead(502).end('<html>')],
    ['throttles', failure(400, 'ProvisionedThroughputExceededException')],
    ['throttles the account', failure(400, 'ThrottlingException')],
    ['limits requests', failure(400, 'RequestLimitExceeded')],
  ])('while DynamoDB %s', async (_title, given) => {
    answer = given;
    await expectUnavailable();
  });

  it('while DynamoDB does not answer', { tags: ['long'] }, async () => {
    answer = () => {};
    await expectUnavailable();
  });

  it('where nothing listens', async () => {
    const { strong } = createDocuments({ endpoint: 'http://127.0.0.1:1', maxAttempts: 1 });
    const read = new GetCommand({ TableName: 't', Key: { pk: 'x' }, ConsistentRead: true });
    await expect(strong.send(read)).rejects.toMatchObject({ name: 'DatabaseUnavailable' });
  });
});
