// The doctor asks where Cyborg's own port is, too.

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createHttp } from '#core/clients/http.ts';
import { get } from '#operate/doctor/get.ts';

/** Some that `fetch` refuses, of which others may have one just now. */
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

it('gets what fetch refuses to get', async () => {
  await expect(createHttp()({ ...request, url })).rejects.toThrow('bad port');
  const answer = await createHttp({ fetch: get })({ ...request, url });
  expect(answer).toMatchObject({ status: 401, body: { token: 't' } });
  expect(answer.headers.get('www-authenticate')).toBe('Keystone uri="there"');
});

it('says where nobody answers', async () => {
  const nobody = createServer();
  await once(nobody.listen(0, '127.0.0.1'), 'listening');
  const address = nobody.address();
  await new Promise((resolve) => nobody.close(resolve));
  const port = typeof address === 'object' ? address?.port : undefined;
  const asked = createHttp({ fetch: get })({ ...request, url: `http://127.0.0.1:${port}/` });
  await expect(asked).rejects.toThrow('ECONNREFUSED');
});
