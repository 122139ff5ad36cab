// The doctor requests any port, as Cyborg's own port is one that `fetch` refuses.

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createHttp } from '#core/clients/http.ts';
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
