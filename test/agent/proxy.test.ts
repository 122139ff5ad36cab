// Hosts that reach the cloud on port 443 only, or through a proxy only.

import { readFileSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { afterEach, beforeAll, expect, it } from 'vitest';
import { openSession } from '#agent/broker/mqtt.ts';
import { openTunnel } from '#agent/broker/tunnel.ts';
import { createDownloads } from '#agent/images/download.ts';
import { startBroker } from '#local/aws/broker.ts';
import { type CertificateFiles, openCertificates } from '#local/aws/certificates.ts';
import { type ConnectProxy, startConnectProxy } from '#test/support/aws/proxies/connect-proxy.ts';
import { silentLog } from '#test/support/hosts/agent.ts';
import { sha256Of } from '#test/support/hosts/gbs.ts';
import { serveHttp } from '#test/support/http-server.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { directoryPerFile } from '#test/support/vitest/shared.ts';
import { startAgent } from './agent-process.ts';

const directory = directoryPerFile();
const certificates = openCertificates(directory);
const thing = 'test:cmp1:example';
let certificate: CertificateFiles;
const proxies: ConnectProxy[] = [];
const never = new AbortController().signal;

beforeAll(() => {
  certificate = certificates.issueHostCertificate(thing);
});

afterEach(async () => {
  for (const proxy of proxies.splice(0)) await proxy.stop();
});

async function proxyTo(port: number, refusal?: number): Promise<ConnectProxy> {
  const proxy = await startConnectProxy(port, refusal);
  proxies.push(proxy);
  return proxy;
}

/** A server with the broker's certificate that accepts the ALPN protocol of MQTT on port 443. */
async function startTlsServer(onProtocol: (name: string | false | null) => void) {
  const server = createServer(
    {
      cert: readFileSync(certificates.server.certificateFile),
      key: readFileSync(certificates.server.keyFile),
      ALPNProtocols: ['x-amzn-mqtt-ca'],
    },
    (socket) => {
      onProtocol(socket.alpnProtocol);
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nimage');
    },
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

it('connects and reports through a proxy, on port 443', async () => {
  const broker = await startBroker({
    stage: 'test',
    certificates: certificates.server,
    deliver: async () => {},
  });
  const proxy = await proxyTo(broker.port);
  const agent = startAgent({
    directory,
    broker,
    certificate,
    settings: {
      CYBORG_AGENT_ENDPOINT: 'localhost:443',
      CYBORG_AGENT_PROXY: `http://agent:s%20cret@127.0.0.1:${proxy.port}`,
    },
  });
  try {
    await eventually(() => agent.output()).toContain('Inventory reported');
    expect(await agent.stop()).toBe(0);
  } finally {
    await broker.stop();
  }
  expect(proxy.asked[0]).toEqual({
    target: 'localhost:443',
    authorization: `Basic ${Buffer.from('agent:s cret').toString('base64')}`,
  });
});

it('announces on port 443 that it speaks MQTT with a certificate', async () => {
  const protocols: (string | false | null)[] = [];
  const server = await startTlsServer((name) => protocols.push(name));
  const proxy = await proxyTo((server.address() as AddressInfo).port);
  const options = { host: 'localhost', port: 443, thing, ...certificate };
  await expect(
    openSession({ ...options, proxy: `http://127.0.0.1:${proxy.port}` }, never),
  ).rejects.toThrow();
  server.close();
  expect(protocols).toEqual(['x-amzn-mqtt-ca']);
});

it("does not accept a proxy's certificate as the broker's", async () => {
  const server = await startTlsServer(() => {});
  const proxy = await proxyTo((server.address() as AddressInfo).port);
  const options = { host: 'abc-ats.iot.example.org', port: 443, thing, ...certificate };
  await expect(
    openSession({ ...options, proxy: `http://127.0.0.1:${proxy.port}` }, never),
  ).rejects.toThrow(/does not match|altnames/);
  server.close();
});

it.each([403, 407, 502])('logs that the proxy refuses with %i', async (status) => {
  const proxy = await proxyTo(1, status);
  const asking = openTunnel(`http://127.0.0.1:${proxy.port}`, { host: 'x', port: 443 }, never);
  await expect(asking).rejects.toThrow(`proxy 127.0.0.1 refuses x:443: status ${status}`);
});

it('logs that there is no proxy', async () => {
  const { port, stop } = await startConnectProxy(1);
  await stop();
  const asking = openTunnel(`http://127.0.0.1:${port}`, { host: 'x', port: 443 }, never);
  await expect(asking).rejects.toThrow('ECONNREFUSED');
});

it('keeps the tunnel after the time limit to open it', async () => {
  const server = await startTlsServer(() => {});
  const proxy = await proxyTo((server.address() as AddressInfo).port);
  const opening = new AbortController();
  const url = `http://127.0.0.1:${proxy.port}`;
  const socket = await openTunnel(url, { host: 'x', port: 443 }, opening.signal);
  opening.abort();
  await new Promise((resolve) => setImmediate(resolve));
  expect(socket.destroyed).toBe(false);
  socket.destroy();
  server.close();
});

function fetchImage(url: string, proxy: ConnectProxy): Promise<string> {
  const downloads = createDownloads(join(directory, 'images'), silentLog, {
    proxy: `http://127.0.0.1:${proxy.port}`,
    source: new URL('/', url).href,
  });
  const image = { url, sha256: sha256Of(Buffer.from('image')), bytes: 5 };
  return downloads.withImage(image, never, async (path) => readFileSync(path, 'utf8'));
}

it('fetches images through the proxy', async () => {
  const server = await serveHttp((_request, response) => response.end('image'));
  const proxy = await proxyTo(server.port);
  expect(await fetchImage('http://bucket.s3.example.org/image', proxy)).toBe('image');
  expect(proxy.asked).toMatchObject([{ target: 'bucket.s3.example.org:80' }]);
  server.stop();
});

it('takes an image only from a server whose certificate has the right name', async () => {
  const server = await startTlsServer(() => {});
  const proxy = await proxyTo((server.address() as AddressInfo).port);
  rmSync(join(directory, 'images'), { recursive: true, force: true });
  // The agent does not trust the authority of this machine with images.
  await expect(fetchImage('https://bucket.s3.example.org/image', proxy)).rejects.toThrow(
    /certificate/,
  );
  expect(proxy.asked).toMatchObject([{ target: 'bucket.s3.example.org:443' }]);
  server.close();
});
