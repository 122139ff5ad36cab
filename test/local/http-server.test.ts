import { Agent, get } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { afterEach, expect, it } from 'vitest';
import { startHttpServer } from '#local/lambda/http-server.ts';
import type { LambdaHandler } from '#local/lambda/lambda.ts';

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** Starts a server with the given function. */
async function serve(handler: LambdaHandler): Promise<string> {
  const options = { port: 0, host: '127.0.0.1', resolve: () => handler, timeoutSeconds: 1 };
  const server = await startHttpServer(options);
  stops.push(server.stop);
  return server.url;
}

/** Returns the event of one request. */
async function eventOf(path: string, init: RequestInit = {}): Promise<APIGatewayProxyEventV2> {
  const url = await serve(async (event) => event);
  return (await (await fetch(url + path, init)).json()) as APIGatewayProxyEventV2;
}

it('describes a request as API Gateway does', async () => {
  const event = await eventOf('/v2/devices?type=GPU&name=a%20b&name=c', {
    headers: [
      ['X-Auth-Token', 'secret'],
      ['Accept', 'a'],
      ['Accept', 'b'],
      ['Cookie', 'x=1; y=2'],
    ],
  });
  expect(event).toMatchObject({
    version: '2.0',
    routeKey: '$default',
    rawPath: '/v2/devices',
    rawQueryString: 'type=GPU&name=a%20b&name=c',
    cookies: ['x=1', 'y=2'],
    queryStringParameters: { type: 'GPU', name: 'a b,c' },
    requestContext: {
      domainName: '127.0.0.1',
      http: { method: 'GET', path: '/v2/devices', protocol: 'HTTP/1.1', sourceIp: '127.0.0.1' },
      stage: '$default',
    },
    isBase64Encoded: false,
  });
  expect(event.headers).toMatchObject({ 'x-auth-token': 'secret' });
  expect(event.headers.accept?.replace(' ', '')).toBe('a,b');
  expect(event.headers).not.toHaveProperty('cookie');
  expect(event.requestContext.requestId).toMatch(/^[0-9a-f-]{36}$/);
  expect(event.requestContext.time).toMatch(/^\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d \+0000$/);
  expect(event).not.toHaveProperty('body');
});

it('passes the decoded path, or the original one if it cannot be decoded', async () => {
  expect((await eventOf('/v2/device_profiles/a%20b')).rawPath).toBe('/v2/device_profiles/a b');
  expect((await eventOf('/v2/%zz')).rawPath).toBe('/v2/%zz');
});

it.each([
  ['application/json', '{"a":"é"}', false],
  ['application/json; charset=utf-8', '{}', false],
  ['application/openstack-images-v2.1+json', '[]', false],
  ['text/plain', 'x', false],
  ['application/octet-stream', 'x', true],
  ['application/x-www-form-urlencoded', 'a=b', true],
])('passes a body of %s, as base64 only if it is not text', async (contentType, body, encoded) => {
  const headers = { 'content-type': contentType };
  const event = await eventOf('/', { method: 'POST', headers, body });
  expect(event.isBase64Encoded).toBe(encoded);
  expect(Buffer.from(event.body ?? '', encoded ? 'base64' : 'utf8').toString()).toBe(body);
});

it('writes a structured result: status, headers, cookies, body', async () => {
  const url = await serve(async () => ({
    statusCode: 202,
    headers: { 'Content-Type': 'application/json', 'OpenStack-API-Version': 'accelerator 2.0' },
    cookies: ['a=1', 'b=2'],
    body: Buffer.from('{"é":1}').toString('base64'),
    isBase64Encoded: true,
  }));
  const response = await fetch(url);
  expect(response.status).toBe(202);
  expect(response.headers.get('openstack-api-version')).toBe('accelerator 2.0');
  expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
  expect(await response.json()).toEqual({ é: 1 });
});

it('writes no body with 204', async () => {
  const response = await fetch(await serve(async () => ({ statusCode: 204, body: 'x' })));
  expect(response.status).toBe(204);
  expect(response.headers.get('content-type')).toBeNull();
});

it('takes a result without a status as the JSON body of a 200', async () => {
  const response = await fetch(await serve(async () => ({ a: 1 })));
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ a: 1 });
});

it.each<[string, LambdaHandler]>([
  ['throws', () => Promise.reject(new Error('no'))],
  [
    'throws before it awaits',
    () => {
      throw new Error('no');
    },
  ],
  ['returns no valid status', async () => ({ statusCode: 'fine' })],
  ['takes too long', () => new Promise(() => {})],
])('answers 500 like API Gateway when the function %s', async (_what, handler) => {
  const response = await fetch(await serve(handler));
  expect(response.status).toBe(500);
  expect(await response.json()).toEqual({ message: 'Internal Server Error' });
});

it('refuses a body over 10 MB, with or without a Content-Length', async () => {
  const url = await serve(async () => ({ statusCode: 200 }));
  const bytes = new Uint8Array(10 * 1024 * 1024 + 1);
  for (const body of [bytes, new Blob([bytes]).stream()]) {
    const response = await fetch(url, { method: 'POST', body, duplex: 'half' } as RequestInit);
    expect(response.status).toBe(413);
    expect(await response.json()).toEqual({ message: 'Request Entity Too Large' });
  }
});

it.each([
  ['20 KB', 20_000],
  ['2 MB', 2_000_000],
])('answers 431 to a query of %s, and resets no connection', async (_size, length) => {
  const url = await serve(async () => ({ statusCode: 200 }));
  const response = await fetch(`${url}/v2/devices?name=${'x'.repeat(length)}`);
  expect(response.status).toBe(431);
  expect(await response.json()).toEqual({ message: 'Request Header Fields Too Large' });
});

it('answers 400 to what is not HTTP', async () => {
  const url = new URL(await serve(async () => ({ statusCode: 200 })));
  const socket = connect(Number(url.port), url.hostname);
  socket.write('HELO\r\n\r\n');
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
});

it('keeps connections open for the next request', async () => {
  const url = await serve(async () => ({ statusCode: 200 }));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const reused: boolean[] = [];
  for (let at = 0; at < 3; at += 1) {
    await new Promise<void>((resolve, reject) => {
      const request = get(url, { agent }, (response) => {
        reused.push(request.reusedSocket);
        text(response).then(() => resolve(), reject);
      });
    });
  }
  agent.destroy();
  expect(reused).toEqual([false, true, true]);
});

it('names the port that is taken, and the variable that chooses another', async () => {
  const port = Number(new URL(await serve(async () => ({}))).port);
  const again = startHttpServer({
    port,
    host: '127.0.0.1',
    variable: 'PORT',
    resolve: () => undefined,
  });
  await expect(again).rejects.toThrow(
    `Port ${port} is in use by another program: stop it, or set PORT`,
  );
});
