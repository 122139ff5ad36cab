// Links lead a client back by the way it came, over IPv6, too. Headers by which any caller could
// choose the host are not believed; behind a terminator with another name there is a setting.

import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { beforeAll, expect, it } from 'vitest';
import { baseUrl } from '#functions/http/links.ts';
import { startApi } from '#local/lambda/api.ts';
import { aDevice, applySettled, aReport } from '#test/support/reports.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { type Answer, startWorld } from '#test/support/world.ts';

const world = perFile(startWorld);
const overIpv6 = perFile(() => startApi({ host: '::1', port: 0 }));
const path = '/accelerator/v2/devices';

beforeAll(async () => {
  const devices = ['0c', '0d'].map((bus) => {
    return aDevice({ address: `0000:${bus}:00.0`, provider_suffix: bus });
  });
  await applySettled(world.deps, 'cmp1', aReport(devices), Date.now());
});

it('leads over IPv6 to a device and to the next page', async () => {
  const ask = async (url: string) => {
    const response = await fetch(url, { headers: { 'X-Auth-Token': 'admin-token' } });
    return { status: response.status, json: (await response.json()) as Answer['json'] };
  };
  const { json } = await ask(`${overIpv6.url}${path}?limit=1`);
  const [{ href: next }] = json.devices_links;
  const [own] = json.devices[0].links;
  for (const href of [own?.href ?? '', next]) {
    expect(href).toMatch(`http://[::1]:${overIpv6.port}${path}`);
    expect((await ask(href)).status).toBe(200);
  }
});

const gateway = {
  host: 'abc123.execute-api.eu-central-1.amazonaws.com',
  'x-forwarded-proto': 'https',
};
const forwarded = {
  'x-forwarded-host': 'other.example',
  'x-forwarded-port': '8443',
  forwarded: 'for=192.0.2.1;host=other.example;proto=http',
};

it.each([
  [gateway, undefined, `https://${gateway.host}`],
  [{ ...gateway, ...forwarded }, undefined, `https://${gateway.host}`],
  [{ ...gateway, ...forwarded }, 'https://accel.example:8443/', 'https://accel.example:8443'],
])('of a request with %o, behind %s, begins with %s', (headers, publicEndpoint, expected) => {
  const event = { headers, requestContext: { domainName: '' } };
  expect(baseUrl(event as unknown as APIGatewayProxyEventV2, publicEndpoint)).toBe(expected);
});

it('leads a client without a Host header to the address that it has called', async () => {
  const { hostname, port, host } = new URL(world.apiUrl);
  const socket = connect(Number(port), hostname);
  socket.write('GET /accelerator/ HTTP/1.0\r\n\r\n');
  const answer = await text(socket);
  expect(answer).toMatch(/^HTTP\/1\.1 200/);
  expect(answer).toContain(`"href":"http://${host}/accelerator/v2"`);
});

it.each(['/', '/accelerator/', '/accelerator/v2', path, `${path}/nope`, '/v2/nope'])(
  'HEAD %s is answered as GET, without the body',
  async (each) => {
    const [get, head] = await Promise.all(['GET', 'HEAD'].map((method) => world.ask(method, each)));
    expect(head?.status).toBe(get?.status);
    expect(head?.text).toBe('');
    for (const name of ['content-type', 'openstack-api-version']) {
      expect(head?.headers.get(name)).toBe(get?.headers.get(name));
    }
  },
);

it('HEAD is refused where GET is, and for a caller without a token', async () => {
  expect((await world.ask('HEAD', `${path}/x/enable`)).status).toBe(405);
  expect((await world.ask('HEAD', path, { token: null })).status).toBe(401);
  expect((await world.ask('HEAD', path, { token: 'demo-token' })).status).toBe(403);
});
