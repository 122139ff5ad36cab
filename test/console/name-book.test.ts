import { expect, it } from 'vitest';
import type { Api } from '#console/api/client.ts';
import { harmlessText } from '#console/parts/text.ts';
import { NameBook } from '#console/session/name-book.ts';

type Query = Readonly<Record<string, string | undefined>>;

function aBook(answer: (query: Query) => unknown) {
  const asked: Query[] = [];
  const due: (() => void)[] = [];
  let nowMs = 1000;
  const ask = async (_method: string, _path: string, sent?: { readonly query?: Query }) => {
    asked.push(sent?.query ?? {});
    return answer(sent?.query ?? {});
  };
  const clock = { now: () => nowMs, after: (_ms: number, run: () => void) => void due.push(run) };
  const book = new NameBook({ ask } as unknown as Pick<Api, 'ask'>, clock);
  const settle = async () => {
    while (due.length > 0) {
      due.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { book, asked, settle, later: (ms: number) => (nowMs += ms) };
}

const none = { servers: {}, projects: {}, users: {} };

it('ids that screens show together share a request, and each is asked for once', async () => {
  const { book, asked, settle } = aBook(() => ({ ...none, servers: { s1: 'vm1' } }));
  const names: (string | undefined)[] = [];
  book.watch('servers', 's1', (name) => names.push(name));
  book.watch('projects', 'p1', (name) => names.push(name));
  book.watch('servers', 's1', (name) => names.push(name));
  await settle();
  book.watch('servers', 's1', (name) => names.push(name));
  await settle();
  expect(asked).toEqual([{ servers: 's1', projects: 'p1', users: undefined }]);
  expect(names).toEqual(['vm1', 'vm1', undefined, 'vm1']);
});

it('asks for 50 at a time, for the first 200 that wait, and again after five minutes', async () => {
  const { book, asked, settle, later } = aBook(() => none);
  for (let each = 0; each < 250; each++) book.watch('servers', `s${each}`, () => {});
  await settle();
  expect(asked.map(({ servers = '' }) => servers.split(',').length)).toEqual([50, 50, 50, 50]);
  later(5 * 60_000);
  book.watch('servers', 's0', () => {});
  await settle();
  expect(asked).toHaveLength(5);
});

it('a watch that has ended hears nothing, and a request that fails leaves the ids', async () => {
  const { book, settle } = aBook(() => {
    throw new Error('The API is away.');
  });
  const names: unknown[] = [];
  book.watch('users', 'u1', (name) => names.push(name))();
  book.watch('users', 'u2', (name) => names.push(name));
  await settle();
  expect(names).toEqual([]);
});

it.each([
  ['<script>alert(1)</script>', '<script>alert(1)</script>'],
  ['\u202egnp.exe', 'gnp.exe'],
  ['a\u0000b\nc', 'abc'],
  ['\u0633\u0631\u0648\u0631', '\u0633\u0631\u0648\u0631'],
  ['\u200f \u2066', ''],
  ['x'.repeat(255), 'x'.repeat(255)],
])('the name %j is shown as %j', (name, shown) => {
  expect(harmlessText(name)).toBe(shown);
});
