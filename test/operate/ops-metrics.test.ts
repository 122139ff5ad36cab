// `cyborg-ops metrics`: what it prints, and what it answers to scrapes.

import { connect } from 'node:net';
import { hostname } from 'node:os';
import { expect, it } from 'vitest';
import { namesServer } from '#core/contracts/host-header.ts';
import { parse } from '#operate/ops/arguments/parse.ts';
import { table } from '#operate/ops/table.ts';
import { metricsVerb } from '#operate/ops/verbs/fleet/metrics.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { callOps, startFakeCloud } from './fake-operator-api.ts';

const cloud = perFile(startFakeCloud);
const text = '# TYPE cyborg_hosts gauge\ncyborg_hosts{state="online"} 2\n';

/** The exporter in front of an API that answers so. */
async function startExporter(ask: () => Promise<string>): Promise<string> {
  const parsed = parse(['metrics', '--listen', '127.0.0.1:0'], table, 0);
  if (parsed.kind !== 'api') throw new Error('The verb signs in.');
  return await new Promise((resolve, reject) => {
    const say = (line: string) => {
      const url = /http:\S+/.exec(line)?.[0];
      if (url) resolve(url);
    };
    const waiting = { clock: Date.now, sleep: async () => {}, say };
    const api = { ask: ask as never, list: async () => [] };
    metricsVerb.ask(api, parsed.input, waiting).catch(reject);
  });
}

it('prints what the API answers', async () => {
  cloud.answer({ status: 200, body: text });
  const { exitCode, out, err } = await callOps(cloud, ['metrics']);
  expect([exitCode, err, `${out}\n`]).toEqual([0, '', text]);
  expect(cloud.asked).toMatchObject([{ method: 'GET', path: '/accelerator/operator/v1/metrics' }]);
});

it('answers scrapes at once with one request to the API', async () => {
  let count = 0;
  let answer = () => {};
  const url = await startExporter(async () => {
    count += 1;
    await new Promise<void>((resolve) => {
      answer = resolve;
    });
    return text;
  });
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk;
  });
  // Requests of one packet are there before the first has its answer.
  socket.write('GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'.repeat(2));
  await eventually(async () => count).toBe(1);
  answer();
  await eventually(async () => received.split(text).length - 1).toBe(2);
  expect(count).toBe(1);
  socket.destroy();
});

it('answers 502 with the reason where the API refuses, and 404 elsewhere', async () => {
  const url = await startExporter(async () => {
    throw new Error('Not\nallowed.');
  });
  const refused = await fetch(url);
  expect([refused.status, await refused.text()]).toEqual([502, 'Not allowed.\n']);
  expect((await fetch(url.replace('/metrics', '/'))).status).toBe(404);
  expect((await fetch(url, { method: 'POST' })).status).toBe(404);
});

it.each([
  ['127.0.0.1:9464', 200],
  ['localhost', 200],
  ['[::1]:9464', 200],
  ['metrics.example.org:9464', 421],
  ['127.0.0.1.example.org', 421],
  ['', 421],
])('is asked by its address alone: %s gets %d', async (name, status) => {
  const url = new URL(await startExporter(async () => text));
  const socket = connect(Number(url.port), '127.0.0.1');
  socket.write(`GET /metrics HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`);
  let received = '';
  for await (const part of socket) received += part;
  expect(received.startsWith(`HTTP/1.1 ${status} `)).toBe(true);
  expect(received.includes(text)).toBe(status === 200);
});

it('is asked by the name of its machine where it listens on all addresses', () => {
  expect(namesServer(`${hostname()}.example.org:9464`, '0.0.0.0')).toBe(true);
  expect(namesServer('metrics.example.org', 'metrics.example.org')).toBe(true);
  expect(namesServer('other.example.org', '::')).toBe(false);
});

it.each(['9464', '127.0.0.1', '127.0.0.1:65536', 'a:b:1'])(
  'refuses the address %s',
  async (address) => {
    const { exitCode, err } = await callOps(cloud, ['metrics', '--listen', address]);
    expect([exitCode, err]).toEqual([
      2,
      `--listen must be an address and a port, such as 127.0.0.1:9464, not ${address}.`,
    ]);
  },
);
