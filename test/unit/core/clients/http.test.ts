import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import {
  createHttp,
  type Fetch,
  type HttpRequest,
  RequestRefused,
  ServiceUnavailable,
  saysAbsent,
} from '#core/clients/http.ts';
import { aService, type ServiceDouble } from './service-double.ts';

let service: ServiceDouble | undefined;
afterEach(async () => {
  await service?.stop();
  service = undefined;
});

const get = (url: string): HttpRequest => ({ service: 'compute', method: 'GET', url });

describe('an answer', () => {
  it('has its status and parsed JSON', async () => {
    service = await aService(() => ({ status: 404, body: { itemNotFound: { code: 404 } } }));
    const answer = await createHttp()(get(service.url));
    expect(answer.status).toBe(404);
    expect(answer.body).toEqual({ itemNotFound: { code: 404 } });
  });

  it('may have no body, or one that is not JSON', async () => {
    service = await aService(({ path }) =>
      path === '/none' ? { status: 204 } : { status: 200, body: '<html>' },
    );
    expect((await createHttp()(get(`${service.url}/none`))).body).toBeUndefined();
    expect((await createHttp()(get(`${service.url}/page`))).body).toBe('<html>');
  });

  it('counts as "not found" only with an error body of the service', async () => {
    service = await aService(({ path }) =>
      path === '/v2.1/servers/x'
        ? { status: 404, body: { itemNotFound: { code: 404, message: 'no' } } }
        : { status: 404, body: '<html>no such page</html>' },
    );
    const http = createHttp();
    expect(saysAbsent(await http(get(`${service.url}/v2.1/servers/x`)), 'itemNotFound')).toBe(true);
    expect(saysAbsent(await http(get(`${service.url}/wrong/servers/x`)), 'itemNotFound')).toBe(
      false,
    );
  });

  it('that redirects is not followed, because our token would go along', async () => {
    service = await aService(({ path }) =>
      path === '/moved' ? { status: 302, headers: { Location: '/other' } } : { status: 200 },
    );
    expect((await createHttp()(get(`${service.url}/moved`))).status).toBe(302);
    expect(service.asked).toHaveLength(1);
  });
});

describe('an unavailable service', () => {
  it.each([
    { status: 500, isWorthRetrying: true },
    { status: 503, isWorthRetrying: true },
    { status: 429, isWorthRetrying: true },
    { status: 501, isWorthRetrying: false },
  ])('is unavailable when it answers $status', async ({ status, isWorthRetrying }) => {
    service = await aService(() => ({ status, body: { error: { message: 'out of order' } } }));
    const failed = await failure(createHttp()(get(`${service.url}/x`)));
    expect(failed).toMatchObject({ service: 'compute', url: `${service.url}/x`, isWorthRetrying });
    expect(failed.message).toContain(`it answered ${status} (out of order)`);
  });

  it('is unavailable when no server listens', async () => {
    service = await aService(() => ({ status: 200 }));
    const { url } = service;
    await service.stop();
    const failed = await failure(createHttp()(get(url)));
    expect(failed).toMatchObject({ isWorthRetrying: true });
    expect(failed.message).toContain('ECONNREFUSED');
  });

  it('is unavailable when it takes too long', async () => {
    service = await aService(() => new Promise(() => {}));
    const failed = await failure(createHttp({ timeoutMs: 50 })(get(service.url)));
    expect(failed.message).toContain('no answer within 50 ms');
    expect(failed.isWorthRetrying).toBe(true);
  });

  it.each([
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'CERT_HAS_EXPIRED',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'ERR_TLS_CERT_ALTNAME_INVALID',
  ])('is not asked again when its certificate is no good: %s', async (code) => {
    const failed = await failure(createHttp({ fetch: failing(code) })(get('https://nova')));
    expect(failed).toMatchObject({ isWorthRetrying: false });
    expect(failed.message).toContain(code);
  });

  it('is not retried on a port that fetch refuses', async () => {
    const failed = await failure(createHttp()(get('http://127.0.0.1:6666')));
    expect(failed).toMatchObject({ isWorthRetrying: false });
    expect(failed.message).toContain('bad port');
  });

  it('is unavailable when it does not speak TLS', async () => {
    const plain = createServer((socket) => socket.end('not TLS'));
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
    const { port } = plain.address() as { port: number };
    const failed = await failure(createHttp()(get(`https://127.0.0.1:${port}`)));
    expect(failed).toBeInstanceOf(ServiceUnavailable);
    plain.close();
  });
});

describe('a second try', () => {
  it('is made once for a GET that a proxy could not pass on', async () => {
    let left = 1;
    service = await aService(() => ({ status: left-- > 0 ? 503 : 200 }));
    expect((await createHttp()(get(service.url))).status).toBe(200);
    expect(service.asked).toHaveLength(2);
  });

  it('is made for a GET whose connection was lost', async () => {
    let left = 1;
    const once: Fetch = (url, init) =>
      left-- > 0 ? failing('ECONNRESET')(url, init) : Promise.resolve(new Response('{}'));
    expect((await createHttp({ fetch: once })(get('http://nova'))).status).toBe(200);
  });

  it('is never made for a request that changes something', async () => {
    service = await aService(() => ({ status: 503 }));
    const post: HttpRequest = { ...get(service.url), method: 'POST', body: {} };
    await failure(createHttp()(post));
    expect(service.asked).toHaveLength(1);
  });

  it('has the time that the first try left', async () => {
    let left = 1;
    service = await aService(() => (left-- > 0 ? { status: 503 } : new Promise<never>(() => {})));
    const request = { ...get(service.url), timeoutMs: 200 };
    const failed = await failure(createHttp()(request));
    expect(failed.message).toContain('no answer within 200 ms');
    expect(service.asked).toHaveLength(2);
  });

  it('is not made without time left, or after a refusal for too many requests', async () => {
    service = await aService(({ path }) =>
      path === '/busy' ? { status: 429 } : new Promise<never>(() => {}),
    );
    await failure(createHttp()(get(`${service.url}/busy`)));
    await failure(createHttp({ timeoutMs: 50 })(get(`${service.url}/slow`)));
    expect(service.asked).toHaveLength(2);
  });
});

describe('a refusal', () => {
  it.each([
    {
      service: 'Placement',
      body: {
        errors: [
          {
            status: 409,
            detail: 'There was a conflict when trying to complete your request.\n\n gone on  ',
            code: 'placement.concurrent_update',
          },
        ],
      },
      detail: 'gone on',
      code: 'placement.concurrent_update',
    },
    {
      service: 'Nova',
      body: { conflictingRequest: { code: 409, message: 'is building' } },
      detail: 'is building',
      code: undefined,
    },
    { service: 'a proxy', body: '<h1>\n  Conflict </h1>', detail: '<h1> Conflict </h1>' },
    { service: 'a mute', body: undefined, detail: 'no explanation' },
  ])('gives the detail of $service', ({ body, detail, code }) => {
    const request = get('http://cloud/thing');
    const error = new RequestRefused(request, { status: 409, headers: new Headers(), body });
    expect(error.message).toBe(`compute answered 409 to GET http://cloud/thing: ${detail}`);
    expect(error.code).toBe(code);
  });
});

function failing(code: string): Fetch {
  return () => {
    const cause = Object.assign(new Error(code), { code });
    return Promise.reject(new TypeError('fetch failed', { cause }));
  };
}

async function failure(asked: Promise<unknown>): Promise<ServiceUnavailable> {
  const error = await asked.then(
    () => new Error('It succeeded.'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ServiceUnavailable);
  return error as ServiceUnavailable;
}
