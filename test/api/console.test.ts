// The console's function, with no table and no queue: its files as the bundler writes them, and
// its sign-in at the fake Keystone.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ConsoleFiles } from '#core/contracts/console-files.ts';
import { createConsoleDeps } from '#functions/console/deps.ts';
import { actions } from '#functions/console/handler.ts';
import { type HttpHandler, resourceHandler } from '#functions/http/resource-handler.ts';
import type { Answer } from '#local/openstack/http-service.ts';
import { applicationCredentials, password } from '#local/openstack/keystone/catalog.ts';
import { type FakeKeystone, startKeystone } from '#local/openstack/keystone/keystone.ts';
import { eventOf } from '#test/support/aws/lambda/http-event.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { directoryPerFile } from '#test/support/vitest/shared.ts';
import { aService, passOn, type ServiceDouble } from '#test/unit/core/clients/service-double.ts';

const directory = directoryPerFile();
const page = '<!doctype html><title>Accelerators</title>';
const script = 'document.title = "Accelerators";'.repeat(50);

const lines: string[] = [];
let cloud: FakeKeystone;
let wire: ServiceDouble;
let interfere: (() => Answer | Promise<Answer>) | undefined;
let environment: Readonly<Record<string, string>>;
let handler: HttpHandler;

function put(name: string, content: string): void {
  writeFileSync(join(directory, name), content);
  writeFileSync(join(directory, `${name}.br`), brotliCompressSync(content));
  writeFileSync(join(directory, `${name}.gz`), gzipSync(content));
}

function list(): void {
  const encodings = ['br', 'gzip'] as const;
  const files: ConsoleFiles = {
    'index.html': { type: 'text/html; charset=utf-8', digest: 'p1', encodings: [...encodings] },
    'main-A1.js': {
      type: 'text/javascript; charset=utf-8',
      digest: 's1',
      encodings: [...encodings],
    },
  };
  writeFileSync(join(directory, 'files.json'), JSON.stringify(files));
}

beforeAll(async () => {
  for (const stream of [process.stdout, process.stderr]) {
    vi.spyOn(stream, 'write').mockImplementation((text) => {
      if (String(text).startsWith('{')) lines.push(String(text));
      return true;
    });
  }
  process.env.POWERTOOLS_LOG_LEVEL = 'DEBUG';
  put('index.html', page);
  put('main-A1.js', script);
  writeFileSync(join(directory, 'unlisted.js'), 'secret');
  list();
  cloud = await startKeystone({ host: '127.0.0.1', port: 0 });
  wire = await aService((ask) => interfere?.() ?? passOn(ask, cloud.url.replace(/\/v3$/, '')));
  environment = {
    CYBORG_STAGE: 'test',
    KEYSTONE_URL: `${wire.url}/v3`,
    CYBORG_OS_PASSWORD: '',
    CYBORG_CONSOLE_DIRECTORY: directory,
  };
  handler = newContainer();
});

afterEach(() => {
  interfere = undefined;
  lines.splice(0);
  wire.asked.splice(0);
});

afterAll(async () => {
  vi.restoreAllMocks();
  await wire.stop();
  await cloud.stop();
});

/** A handler without state of earlier requests, as Lambda starts it. */
function newContainer(): HttpHandler {
  return resourceHandler('console', actions, () => createConsoleDeps(environment));
}

async function get(path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') {
  const answer = await handler(eventOf(method, path, headers), {} as never);
  const { statusCode: status, headers: given = {}, body = '', isBase64Encoded } = answer;
  const bytes = Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8');
  return { status, headers: given, bytes, text: bytes.toString() };
}

describe('the console', () => {
  it.each(['/console', '/console/'])('is a page at %s, without a token', async (path) => {
    const { status, headers, text } = await get(path);
    expect([status, text]).toEqual([200, page]);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'strict-transport-security': 'max-age=31536000',
      'x-openstack-request-id': expect.stringMatching(/^req-/),
    });
  });

  it('may run its own scripts only, and is in no frame', async () => {
    const { headers } = await get('/console');
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
        "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; " +
        "frame-ancestors 'none'",
    );
  });

  it('has files that browsers keep, because another content has another name', async () => {
    const { status, headers, text } = await get('/console/main-A1.js');
    expect([status, text]).toEqual([200, script]);
    expect(headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'Accept-Encoding',
      'x-content-type-options': 'nosniff',
    });
  });

  it.each([
    ['gzip, deflate, br', 'br', brotliDecompressSync],
    ['gzip;q=1.0, br;q=0', 'gzip', gunzipSync],
    ['BR', 'br', brotliDecompressSync],
    ['identity', undefined, (bytes: Buffer) => bytes],
    ['', undefined, (bytes: Buffer) => bytes],
  ])('is encoded for "accept-encoding: %s"', async (accepted, encoding, decode) => {
    const { headers, bytes } = await get('/console/main-A1.js', { 'accept-encoding': accepted });
    expect(headers['content-encoding']).toBe(encoding);
    expect(decode(bytes).toString()).toBe(script);
  });

  it('answers 304 for a tag that the browser has, of the same encoding alone', async () => {
    const zipped = { 'accept-encoding': 'gzip' };
    const { etag } = (await get('/console', zipped)).headers;
    for (const known of [`${etag}`, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await get('/console', { ...zipped, 'if-none-match': known });
      expect([again.status, again.text]).toEqual([304, '']);
      expect(again.headers).toMatchObject({ etag, 'cache-control': 'no-cache' });
    }
    expect((await get('/console', { 'if-none-match': `${etag}` })).status).toBe(200);
  });

  it.each([
    '/console/unlisted.js',
    '/console/files.json',
    '/console/main-A1.js.br',
    '/console/..%2ffiles.json',
    '/console/%2e%2e',
    '/console/../deps.ts',
    '/console/constructor',
    '/console/__proto__',
    '/console/a/b',
    '/console/main-A1.js%00',
    '/console/%zz',
  ])('answers 404 for %s in the usual form', async (path) => {
    const { status, text } = await get(path);
    expect(status).toBe(404);
    expect(JSON.parse(text)).toEqual({
      error_message: expect.any(String),
      error: expect.any(String),
    });
  });

  it('answers 405 for another method, and 400 for a parameter', async () => {
    const deleted = await get('/console', {}, 'DELETE');
    expect([deleted.status, deleted.headers.Allow]).toEqual([405, 'GET']);
    expect((await get('/console?next=//evil.test')).status).toBe(400);
  });

  it('has the new files as soon as they are there', async () => {
    await get('/console');
    put('index.html', '<!doctype html><title>new</title>');
    await eventually(async () => {
      list();
      return (await get('/console')).text;
    }).toContain('new');
  });

  it('answers 404 while nothing is bundled', async () => {
    environment = { ...environment, CYBORG_CONSOLE_DIRECTORY: join(directory, 'none') };
    const empty = newContainer();
    expect((await empty(eventOf('GET', '/console'), {} as never)).statusCode).toBe(404);
  });
});

const login = { method: 'password', user: 'admin', password, project: 'admin' };
const [credential] = applicationCredentials;

async function signIn(given: unknown, contentType = 'application/json', sourceIp = '127.0.0.1') {
  const body = typeof given === 'string' ? given : JSON.stringify(given);
  const headers = { ...(contentType && { 'content-type': contentType }) };
  const event = eventOf('POST', '/console/sign-in', headers, body);
  Object.assign(event.requestContext.http, { sourceIp });
  const answer = await handler(event, {} as never);
  const { statusCode: status, headers: told = {}, body: text = '' } = answer;
  return { status, headers: told, text, json: JSON.parse(text) };
}

describe('a sign-in', () => {
  beforeEach(() => {
    handler = newContainer();
  });

  it('with a password has a token for the project', async () => {
    const { status, headers, json } = await signIn(login);
    expect([status, headers['cache-control']]).toEqual([200, 'no-store']);
    expect(headers['strict-transport-security']).toBe('max-age=31536000');
    expect(json).toEqual({
      token: expect.stringMatching(/^gAAAA/),
      expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      user: { id: expect.any(String), name: 'admin' },
      project: { id: expect.any(String), name: 'admin' },
      roles: ['admin', 'manager', 'member', 'reader'],
    });
    const known = await fetch(`${cloud.url}/auth/tokens`, {
      headers: { 'X-Auth-Token': json.token, 'X-Subject-Token': json.token },
    });
    expect(known.status).toBe(200);
  });

  it('names the domains of the user and of the project, each Default by default', async () => {
    await signIn(login);
    await signIn({ ...login, domain: 'people', project_domain: 'projects' });
    const domains = wire.asked.map(({ body }) => {
      const { identity, scope } = (body as Auth).auth;
      return [identity.password.user.domain.name, scope.project.domain.name];
    });
    expect(domains).toEqual([
      ['Default', 'Default'],
      ['people', 'projects'],
    ]);
  });

  it('with an application credential has a token for its project', async () => {
    const { id = '', secret = '' } = credential ?? {};
    const { status, json } = await signIn({ method: 'application_credential', id, secret });
    expect([status, json.project.name]).toEqual([200, 'admin']);
    expect(wire.asked.map(({ body }) => Object.keys((body as Auth).auth))).toEqual([['identity']]);
  });

  it.each([
    ['a wrong password', { ...login, password: 'wrong-secret' }],
    ['an unknown user', { ...login, user: 'mallory' }],
    ['a project without a role', { ...login, project: 'alt' }],
    [
      'a wrong application credential',
      { method: 'application_credential', id: credential?.id, secret: 'wrong-secret' },
    ],
  ])('with %s is refused in the same words', async (_what, given) => {
    const { status, text, json } = await signIn(given);
    expect(status).toBe(401);
    expect(json).toEqual({
      error: {
        code: 401,
        title: 'Unauthorized',
        message: expect.stringContaining('Keystone refused the sign-in'),
      },
    });
    expect(text).not.toContain('wrong-secret');
  });

  it('that fails too often has to wait, and does not reach Keystone; other addresses sign in', async () => {
    const wrong = { ...login, password: 'wrong-secret' };
    for (let count = 0; count < 3; count += 1) expect((await signIn(wrong)).status).toBe(401);
    // Names of Keystone have no case.
    const { status, headers, json } = await signIn({ ...wrong, user: 'Admin' });
    expect([status, headers['Retry-After']]).toEqual([429, '1']);
    expect(json.error).toContain('try again in 1 s');
    expect(wire.asked).toHaveLength(3);
    expect((await signIn(login, 'application/json', '192.0.2.7')).status).toBe(200);
  });

  it('that Keystone fails at counts as failed, while one in an outage does not', async () => {
    interfere = () => ({ status: 502, body: 'bad gateway' });
    for (let count = 0; count < 2; count += 1) expect((await signIn(login)).status).toBe(503);
    interfere = () => ({ status: 500, body: { error: { message: 'invalid byte sequence' } } });
    const odd = { ...login, user: 'odd' };
    for (let count = 0; count < 3; count += 1) expect((await signIn(odd)).status).toBe(503);
    expect((await signIn(odd)).status).toBe(429);
    expect(wire.asked).toHaveLength(5);
  });

  it('is one call to Keystone, also when refused or not answered', async () => {
    await signIn({ ...login, password: 'wrong' });
    interfere = () => ({ status: 502, body: 'bad gateway' });
    await signIn(login);
    expect(wire.asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'POST /v3/auth/tokens',
      'POST /v3/auth/tokens',
    ]);
  });

  it.each([
    ['project: ', { ...login, project: undefined }],
    ['password: ', { ...login, password: 17 }],
    ['password: ', { ...login, password: '' }],
    ['password: ', { ...login, password: 'hunter2'.repeat(1_000) }],
    ['user: ', { ...login, user: ['hunter2'] }],
    ['method: must be password or application_credential', { ...login, method: 'hunter2' }],
    ['Unrecognized key: "scope"', { ...login, scope: 'hunter2' }],
    ['secret: ', { method: 'application_credential', id: 'a', secret: { value: 'hunter2' } }],
    ['not valid JSON', '{"method":"password","password":"hunter2'],
    ['not valid JSON', '{"method":"password","password":"hunter2\\ud800"}'],
    ['The request needs a body', ''],
    ['The body must be an object.', '"hunter2"'],
  ])('that is wrong is refused: %s', async (reason, given) => {
    const { status, text, json } = await signIn(given);
    expect([status, json.error]).toEqual([400, expect.stringContaining(reason)]);
    expect(text + lines.join()).not.toContain('hunter2');
    expect(wire.asked).toEqual([]);
  });

  it('is JSON, so that no form of another page can send it', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', '']) {
      expect((await signIn(JSON.stringify(login), type)).status).toBe(415);
    }
    expect(wire.asked).toEqual([]);
  });

  it('is short', async () => {
    const long = JSON.stringify({ ...login, password: 'x'.repeat(16 * 1024) });
    expect((await signIn(long)).status).toBe(413);
    expect(wire.asked).toEqual([]);
  });

  it('leaves no secret and no token in a log line', async () => {
    const { json } = await signIn({ ...login, user: 'reader', project: 'demo' });
    await signIn({ ...login, password: 'wrong-secret' });
    interfere = () => ({ status: 500, body: { error: { message: 'database is gone' } } });
    await signIn(login);
    const answered = lines.map((line) => JSON.parse(line)).filter(({ path }) => path);
    expect(answered.map(({ status }) => status)).toEqual([200, 401, 503]);
    const log = lines.join('\n');
    for (const secret of [password, 'wrong-secret', json.token]) expect(log).not.toContain(secret);
  });

  it('is refused for some seconds once Keystone has failed three times', async () => {
    interfere = () => ({ status: 503, body: 'restarting' });
    for (let attempt = 0; attempt < 5; attempt++) {
      const { status, headers, json } = await signIn(login);
      expect(status).toBe(503);
      expect(Number(headers['Retry-After'])).toBeGreaterThan(0);
      expect(json).not.toHaveProperty('error');
    }
    expect(wire.asked.length).toBe(3);
  });

  it('whose answer is not understood is no sign-in', async () => {
    interfere = () => ({ status: 201, body: { token: {} } });
    expect((await signIn(login)).status).toBe(503);
    interfere = () => ({ status: 301, body: 'moved' });
    expect((await signIn(login)).status).toBe(503);
  });
});

interface Auth {
  readonly auth: {
    readonly identity: {
      readonly password: { readonly user: { readonly domain: { readonly name: string } } };
    };
    readonly scope: { readonly project: { readonly domain: { readonly name: string } } };
  };
}
