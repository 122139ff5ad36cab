// Operators' commands request any port, as Cyborg's own port is one that `fetch` refuses, and
// trust the authorities of a private cloud.

import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createHttp } from '#core/clients/http.ts';
import { openCertificates } from '#local/aws/certificates.ts';
import { createFetch } from '#operate/any-port-fetch.ts';

/** Ports that `fetch` refuses, several because one may be in use. */
const refusedPorts = [6665, 6667, 6668, 6669, 6697, 10080, 4190, 5061];
let server: Server;
let url: string;

beforeAll(async () => {
  for (const port of refusedPorts) {
    server = createServer(({ headers }, answer) => {
      answer.writeHead(401, { 'WWW-Authenticate': 'Keystone uri="there"' });
      answer.end(JSON.stringify({ token: headers['x-auth-token'] }));
    });
    url = `http://127.0.0.1:${port}/`;
    const isOurs = once(server.listen(port, '127.0.0.1'), 'listening').then(() => true);
    if (await isOurs.catch(() => false)) return;
  }
});
afterAll(() => server.close());

const request = {
  service: 'accelerator',
  method: 'GET',
  headers: { 'X-Auth-Token': 't' },
} as const;

it('answers from a port that fetch refuses', async () => {
  await expect(createHttp()({ ...request, url })).rejects.toThrow('bad port');
  const answer = await createHttp({ fetch: createFetch() })({ ...request, url });
  expect(answer).toMatchObject({ status: 401, body: { token: 't' } });
  expect(answer.headers.get('www-authenticate')).toBe('Keystone uri="there"');
});

it('names the address when no server listens', async () => {
  const closed = createServer();
  await once(closed.listen(0, '127.0.0.1'), 'listening');
  const address = closed.address();
  await new Promise((resolve) => closed.close(resolve));
  const port = typeof address === 'object' ? address?.port : undefined;
  const asked = createHttp({ fetch: createFetch() })({
    ...request,
    url: `http://127.0.0.1:${port}/`,
  });
  await expect(asked).rejects.toThrow('ECONNREFUSED');
});

describe('a service whose certificate a private authority has signed', () => {
  let directory: string;
  let secure: Server;
  let request: { service: string; method: 'POST'; url: string; body: unknown };
  let ca: string;

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'private-authority-'));
    const { certificateFile, keyFile, authorityFile } = openCertificates(directory).server;
    ca = readFileSync(authorityFile, 'utf8');
    const identity = { cert: readFileSync(certificateFile), key: readFileSync(keyFile) };
    secure = createSecureServer(identity, async (asked, answer) => {
      let text = '';
      for await (const chunk of asked) text += chunk;
      answer.end(JSON.stringify({ method: asked.method, body: JSON.parse(text) }));
    });
    await once(secure.listen(0, '127.0.0.1'), 'listening');
    const { port } = secure.address() as AddressInfo;
    request = { service: 'x', method: 'POST', url: `https://127.0.0.1:${port}/`, body: { a: 'é' } };
  });
  afterAll(() => {
    secure.close();
    rmSync(directory, { recursive: true });
  });

  it('is refused without that authority', async () => {
    await expect(createHttp({ fetch: createFetch() })(request)).rejects.toThrow(
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    );
  });

  it('answers with the authority, or where nothing is verified', async () => {
    for (const trust of [{ ca }, { isInsecure: true }]) {
      const { body } = await createHttp({ fetch: createFetch(trust) })(request);
      expect(body).toEqual({ method: 'POST', body: { a: 'é' } });
    }
  });

  it('ends after the time limit where it does not answer', async () => {
    const silent = createServer(() => undefined);
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    const { port } = silent.address() as AddressInfo;
    const http = createHttp({ fetch: createFetch(), timeoutMs: 100 });
    const asked = http({ service: 'x', method: 'GET', url: `http://127.0.0.1:${port}/` });
    await expect(asked).rejects.toThrow('no answer within 100 ms');
    silent.closeAllConnections();
    silent.close();
  });
});
