// `cyborg-ops top`: what it reads, what it shows, and how it goes on in a terminal.

import { expect, it } from 'vitest';
import type { Picture } from '#operate/ops/output/terminal.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { type Answer, callOps, startFakeCloud } from './fake-operator-api.ts';

const cloud = perFile(startFakeCloud);
const operator = '/accelerator/operator/v1';

const ok = (body: unknown): Answer => ({ status: 200, body });
const host = (hostname: string, state: string, devices: number) => ({
  hostname,
  state,
  devices,
  not_offered: 1,
});
const hosts = ok({
  hosts: [host('cmp1', 'online', 4), host('cmp2', 'away', 2), host('cmp3', 'online', 3)],
});
const incident = {
  kind: 'host-away',
  since: '2026-11-22T10:00:00Z',
  hostname: 'cmp2',
  reason: 'x',
};
const incidents = ok({
  incidents: [incident],
  incidents_links: [{ rel: 'next', href: 'http://x' }],
});
const record = { id: 'r1', at: '2026-11-22T10:00:00Z', kind: 'host.away', hostname: 'cmp2' };
const history = ok({ history: [record] });
const reading = [hosts, incidents, history];

it('shows hosts by state, incidents and the latest changes, once where nothing is drawn', async () => {
  cloud.answer(...reading);
  const { exitCode, out, err } = await callOps(cloud, ['top'], { width: 80 });
  expect([exitCode, err]).toEqual([0, '']);
  expect(out.split('\n')).toEqual([
    '2026-11-23T00:00:00.000Z',
    '',
    'state   hosts  devices  not offered',
    'online  2      7        2',
    'away    1      2        1',
    '',
    '1 incident or more',
    'kind       since                 host  reason',
    'host-away  2026-11-22T10:00:00Z  cmp2  x',
    '',
    'Latest changes',
    'at                    what       host',
    '2026-11-22T10:00:00Z  host.away  cmp2',
  ]);
});

it('reads pages of hosts, and one page of all else', async () => {
  cloud.answer(...reading);
  await callOps(cloud, ['top', '--once']);
  expect(cloud.asked.map(({ path }) => path)).toEqual([
    `${operator}/hosts?limit=1000`,
    `${operator}/incidents?limit=200`,
    `${operator}/history?limit=10`,
  ]);
});

it('shows an empty cloud in words', async () => {
  cloud.answer(ok({ hosts: [] }), ok({ incidents: [] }), ok({ history: [] }));
  const { out } = await callOps(cloud, ['top']);
  expect(out).toMatch(/No host has reported\.\n\nNo incidents\.\n\nNo changes\.$/);
});

it.each([['--once'], ['-f', 'json'], ['--json']])('prints it once with %s %s', async (...words) => {
  cloud.answer(...reading);
  const drawn: Picture[] = [];
  const draw = (picture: Picture) => drawn.push(picture);
  const { out } = await callOps(cloud, ['top', ...words], { draw });
  expect(drawn).toEqual([]);
  expect(out).toContain('cmp2');
});

/** Draws until a sleep of this number, which fails as the process that is interrupted. */
async function watch(sleeps: number, ...words: readonly string[]) {
  const pictures: string[] = [];
  const slept: number[] = [];
  const { err } = await callOps(cloud, ['top', ...words], {
    draw: (picture) => pictures.push(picture(80).join('\n')),
    sleep: async (milliseconds) => {
      slept.push(milliseconds);
      if (slept.length === sleeps) throw new Error('interrupted');
    },
  });
  return { pictures, slept, err };
}

it('draws it again after each reading, in the interval that is asked for', async () => {
  cloud.answer(...reading, ok({ hosts: [host('cmp9', 'drained', 1)] }), incidents, history);
  const { pictures, slept } = await watch(2, '--every', '30');
  expect(slept).toEqual([30_000, 30_000]);
  expect(pictures[0]).toMatch(/^online +2/m);
  expect(pictures[1]).toMatch(/^drained +1/m);
});

it('keeps the last picture while the service fails, and says so', async () => {
  cloud.answer(...reading, { status: 409, body: { error: 'The table is throttled.' } }, ...reading);
  const { pictures } = await watch(3);
  expect(pictures[1]).toMatch(/^Not read at 2026-11-23T00:00:00.000Z: The table is throttled\.\n/);
  expect(pictures[1]).toMatch(/^online +2/m);
  expect(pictures[2]).toBe(pictures[0]);
});

it('ends when a right is taken away', async () => {
  cloud.answer(...reading, { status: 403, body: { error: 'Policy does not allow it.' } });
  expect(await watch(5)).toMatchObject({ err: 'Policy does not allow it.', slept: [10_000] });
});
