// Any request gets an answer below 500 in the envelope that names the fault, and stores nothing.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { routes } from '#functions/routes.ts';
import { sentenceOf } from '#test/support/stored/refusals.ts';
import { everythingStored } from '#test/support/stored/tables.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { type Answer, startWorld } from '#test/support/world.ts';

/** A valid body for each route that takes one. */
const runsPerRoute = 150;
const none = '99999999-0000-4000-8000-000000000009';
const world = perFile(startWorld);
let runs = 0;

const withBody = routes.filter(({ method }) => method === 'POST' || method === 'PATCH');
const nowBody = /enable|disable|force_release/;
const targets = withBody.filter(({ path }) => !nowBody.test(path));

const nastyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    '__proto__',
    'constructor',
    'toString',
    '',
    ' ',
    '\u0000',
    '\ud800',
    '💥',
    "';--",
  ),
  fc.integer({ min: 256, max: 3000 }).map((length) => 'x'.repeat(length)),
);
const key = fc.oneof(
  nastyText,
  fc.constantFrom(
    ...[
      'name',
      'groups',
      'uuid',
      'description',
      'device_profile_name',
      none,
      'op',
      'path',
      'value',
    ],
    ...[
      'resources:FPGA',
      'trait:CUSTOM_A',
      'accel:function_id',
      'deployable_id',
      'key',
      'attribute',
    ],
    ...['image_uuid', 'reason', 'hostname'],
  ),
);
const leaf = fc.oneof(
  nastyText,
  fc.double(),
  fc.integer(),
  fc.boolean(),
  fc.constantFrom(
    null,
    'add',
    'remove',
    'replace',
    '/status',
    '/hostname',
    '/program',
    none,
    'FPGA',
  ),
);
/** Values that are never valid, so that each request fails. */
const body = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    leaf,
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(key, tie('value'), { maxKeys: 6 }),
  ),
})).value;

function isProper({ status }: Answer): boolean {
  return status >= 400 && status < 500;
}

async function held(method: string, path: string, text: string): Promise<void> {
  runs += 1;
  const answer = await world.ask(method, path, {
    body: text,
    serviceToken: 'nova-token',
    microversion: 'accelerator 2.3',
  });
  expect(isProper(answer), `${method} ${path} ${text.slice(0, 300)}: ${answer.status}`).toBe(true);
  expect(sentenceOf(answer).length).toBeGreaterThan(8);
}

describe('bodies', () => {
  it.each(targets)('$method $path', async ({ method, path }) => {
    const at = path.replaceAll('{id}', none);
    await fc.assert(
      fc.asyncProperty(body, async (given) => {
        const text = JSON.stringify(given) ?? 'null';
        // A dry run of all that waits: the only body here that a route takes.
        fc.pre(!(path.endsWith('/reap') && text === '{}'));
        await held(method, at, text);
      }),
      { numRuns: runsPerRoute },
    );
    expect(await everythingStored()).toEqual([]);
  });

  const deep = 20_000;
  const patch = '{"op":"add","path":"/hostname","value":"x"}';
  it.each([
    ['deep lists', '['.repeat(deep) + ']'.repeat(deep)],
    ['deep objects', `${'{"a":'.repeat(deep)}1${'}'.repeat(deep)}`],
    ['the same key twice', `{"device_profile_name":"a","device_profile_name":"b"}`],
    ['a prototype', '{"__proto__":{"device_profile_name":"a"},"constructor":{"prototype":{}}}'],
    ['10,000 operations', `{"${none}":[${Array(10_000).fill(patch).join()}]}`],
    [
      '10,000 groups',
      `[{"name":"a","groups":[${Array(10_000).fill('{"resources:FPGA":1}').join()}]}]`,
    ],
    ['10,000 keys', `{${Array.from({ length: 10_000 }, (_, at) => `"k${at}":1`).join()}}`],
    ['more than a megabyte', `{"name":"${'x'.repeat(2 ** 20)}"}`],
    ['a number above the range of numbers', '[1e999]'],
    ['half a surrogate', '{"name":"\\ud800","groups":[{"resources:FPGA":"1"}]}'],
    ['a byte order mark', '\ufeff{}'],
  ])('%s', async (_name, text) => {
    for (const { method, path } of targets) {
      await held(method, path.replaceAll('{id}', none), text);
    }
    expect(await everythingStored()).toEqual([]);
  });
});

describe('paths and queries', () => {
  it.each(routes.filter(({ policy }) => policy !== undefined))('$method $path', async (row) => {
    const segment = fc.oneof(nastyText, fc.constantFrom('..', '%', '%00', '%ff', 'a,b', '1', '-1'));
    const parameter = fc.oneof(
      key,
      fc.constantFrom('limit', 'marker', 'sort_key', 'instance', 'arqs', 'name', 'value'),
    );
    await fc.assert(
      fc.asyncProperty(segment, parameter, nastyText, async (id, name, value) => {
        runs += 1;
        const encode = (text: string) => encodeURIComponent(text.toWellFormed());
        // Clients resolve one dot or two themselves, which leads to other routes.
        const at = row.path.replaceAll('{id}', encode(id) || '-');
        const query = `${encode(name)}=${encode(value)}`;
        const answer = await world.ask(row.method, `${at}?${query}`, {
          serviceToken: 'nova-token',
        });
        expect(answer.status, `${row.method} ${at}?${query}: ${answer.text}`).toBeLessThan(500);
      }),
      { numRuns: 40 },
    );
    expect(await everythingStored()).toEqual([]);
  });
});

it('was 2,500 requests and more', () => {
  expect(runs).toBeGreaterThan(2500);
});
