import { describe, expect, it } from 'vitest';
import { createApi } from '#console/api/client.ts';
import { ApiFailure } from '#console/api/failure.ts';
import { readAll } from '#console/api/pages.ts';

type Answer = Response | Error;

/** An API that answers each request with the next of the answers, and keeps what was asked. */
function anApi(answers: Answer[], token: () => string | undefined = () => 'token-1') {
  const asked: { url: string; init: RequestInit }[] = [];
  let signedOut = 0;
  const api = createApi({
    fetch: (async (url: string, init: RequestInit) => {
      asked.push({ url, init });
      const answer = answers.shift() ?? new Error('no answer');
      if (answer instanceof Error) throw answer;
      return answer;
    }) as typeof fetch,
    token,
    onSignedOut: () => {
      signedOut += 1;
    },
  });
  return { api, asked, signedOut: () => signedOut };
}

const json = (body: unknown, status = 200) => new Response(JSON.stringify(body), { status });

async function failureOf(asking: Promise<unknown>): Promise<ApiFailure> {
  const error = await asking.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ApiFailure)) throw new Error(`It did not fail: ${String(error)}`);
  return error;
}

describe('a request of the console', () => {
  it('has the token, the microversion, the query without what is not given, and the body', async () => {
    const { api, asked } = anApi([json({ ok: true })]);
    const sent = { query: { kind: 'drift', host: undefined, empty: '' }, body: { a: 1 } };
    expect(await api.ask('POST', '/operator/v1/incidents', sent)).toEqual({ ok: true });
    const [{ url, init } = { url: '', init: {} }] = asked;
    expect(url).toBe('/operator/v1/incidents?kind=drift');
    expect(init).toMatchObject({
      method: 'POST',
      body: '{"a":1}',
      headers: {
        'X-Auth-Token': 'token-1',
        'OpenStack-API-Version': 'accelerator 2.3',
        'Content-Type': 'application/json',
      },
    });
  });

  it('is undefined where the answer has no body', async () => {
    const { api } = anApi([new Response(null, { status: 204 })]);
    expect(await api.ask('DELETE', '/operator/v1/hosts/cmp1')).toBeUndefined();
  });

  it.each([
    [409, { error: 'Host cmp1 is not drained.' }, 'conflict', 'Host cmp1 is not drained.'],
    [403, { error: 'Not with these roles.' }, 'forbidden', 'Not with these roles.'],
    [
      503,
      { error_message: '{"faultstring":"keystone cannot be asked right now."}' },
      'unavailable',
      'keystone cannot be asked right now.',
    ],
    [
      401,
      { error: { code: 401, title: 'Unauthorized', message: 'The request needs a token.' } },
      'signed-out',
      'The request needs a token.',
    ],
    [400, { error: 'limit: too big.' }, 'refused', 'limit: too big.'],
    [404, 'not an envelope', 'not-found', 'The API answered with status 404.'],
    [429, {}, 'unavailable', 'The API answered with status 429.'],
  ])('%i with %j is a failure of kind %s', async (status, body, kind, sentence) => {
    const { api } = anApi([json(body, status)]);
    const failure = await failureOf(api.ask('GET', '/'));
    expect([failure.kind, failure.message, failure.status]).toEqual([kind, sentence, status]);
  });

  it('that finds no API is passing, and says so', async () => {
    const { api } = anApi([new TypeError('Failed to fetch')]);
    const failure = await failureOf(api.ask('GET', '/'));
    expect([failure.kind, failure.isPassing]).toEqual(['unreachable', true]);
  });

  it('fails where a proxy answers a page in place of the API', async () => {
    const { api } = anApi([new Response('<html>', { status: 200 })]);
    expect((await failureOf(api.ask('GET', '/'))).kind).toBe('unavailable');
  });

  it('ends the session once the API refuses its token', async () => {
    const { api, signedOut } = anApi([json({ error: 'no' }, 401)]);
    await failureOf(api.ask('GET', '/'));
    expect(signedOut()).toBe(1);
  });

  it('does not end a session that has a new token meanwhile', async () => {
    const tokens = ['old', 'new'];
    const { api, signedOut } = anApi([json({ error: 'no' }, 401)], () => tokens.shift());
    await failureOf(api.ask('GET', '/'));
    expect(signedOut()).toBe(0);
  });
});

describe('a list with pages', () => {
  const page = (rows: number[], marker?: string) =>
    json({
      rows,
      ...(marker && {
        rows_links: [{ rel: 'next', href: `https://elsewhere.example/x?limit=9&marker=${marker}` }],
      }),
    });
  const of = { path: '/operator/v1/rows', collection: 'rows', query: { kind: 'k' } };

  it('is read to its end from its own address, also over an empty page', async () => {
    const { api, asked } = anApi([page([1, 2], 'b'), page([], 'c'), page([3])]);
    const shown: number[] = [];
    const listing = await readAll<number>(api, of, ({ rows }) => shown.push(rows.length));
    expect(listing).toEqual({ rows: [1, 2, 3] });
    expect(shown).toEqual([2, 2]);
    expect(asked.map(({ url }) => url)).toEqual([
      '/operator/v1/rows?kind=k&limit=1000',
      '/operator/v1/rows?kind=k&limit=1000&marker=b',
      '/operator/v1/rows?kind=k&limit=1000&marker=c',
    ]);
  });

  it('has smaller pages, where a row takes the API long', async () => {
    const { api, asked } = anApi([page([1], 'b'), page([2])]);
    await readAll<number>(api, { ...of, pageRows: 200 });
    expect(asked.map(({ url }) => new URL(url, 'http://api').searchParams.get('limit'))).toEqual([
      '200',
      '200',
    ]);
  });

  it('keeps what the first page says that no device has', async () => {
    const missing = ['trait:CUSTOM_A'];
    const links = [{ rel: 'next', href: 'http://elsewhere/list?marker=b' }];
    const { api } = anApi([json({ rows: [1], rows_links: links, missing }), json({ rows: [2] })]);
    const listing = await readAll<number>(api, of);
    expect(listing).toEqual({ rows: [1, 2], missing });
  });

  it('that breaks off has its first rows, the reason, and where the rest begins', async () => {
    const { api } = anApi([page([1], 'b'), new TypeError('gone')]);
    const listing = await readAll<number>(api, of);
    expect(listing).toMatchObject({ rows: [1], next: 'b', failure: { kind: 'unreachable' } });
  });

  it('goes on where it ended', async () => {
    const { api, asked } = anApi([page([2])]);
    const listing = await readAll<number>(api, of, undefined, { rows: [1], next: 'b' });
    expect(listing).toEqual({ rows: [1, 2] });
    expect(asked[0]?.url).toContain('marker=b');
  });

  it('fails where not even the first page is there', async () => {
    const { api } = anApi([json({ error: 'Not with these roles.' }, 403)]);
    expect((await failureOf(readAll(api, of))).kind).toBe('forbidden');
  });

  it('ends at the number of rows that is wanted, and keeps what is wanted of a row', async () => {
    const { api, asked } = anApi([page([1, 2], 'b')]);
    const listing = await readAll<string, number>(api, {
      ...of,
      rowsMax: 2,
      keep: (row) => `row ${row}`,
    });
    expect(listing).toEqual({ rows: ['row 1', 'row 2'], next: 'b' });
    expect(asked[0]?.url).toContain('limit=2');
  });
});
