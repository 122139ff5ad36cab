import { describe, expect, it } from 'vitest';
import type { Host, HostDetail } from '#console/api/answers.ts';
import type { Api, Sent } from '#console/api/client.ts';
import { ApiFailure } from '#console/api/failure.ts';
import { findDevices, findId, hostsAskedMax } from '#console/search/lookups.ts';
import { readTerm } from '#console/search/term.ts';

const uuid = '0a0a0a0a-0000-4000-8000-000000000001';
const keystoneId = '1888ad8b145368b77b4f9dcf1a02f152';

describe('a text of the search', () => {
  it.each([
    [' CMP1 ', { text: 'cmp1' }],
    [uuid.toUpperCase(), { text: uuid, uuid, keystoneId: uuid }],
    [keystoneId, { text: keystoneId, keystoneId }],
    ['0000:3B:00.0', { text: '0000:3b:00.0', address: '0000:3b:00.0', host: '' }],
    ['cmp4 3b:00', { text: 'cmp4 3b:00', address: '3b:00', host: 'cmp4' }],
    ['cmp4 serial:AB12', { text: 'cmp4 serial:ab12', serial: 'ab12', host: 'cmp4' }],
    ['', { text: '' }],
    ['cmp4 gpu', { text: 'cmp4 gpu' }],
  ])('%s', (typed, term) => {
    expect(readTerm(typed)).toEqual(term);
  });
});

/** Answers by path, and 404 without one. */
function anApi(answers: Readonly<Record<string, unknown>>): Api & { readonly asked: string[] } {
  const asked: string[] = [];
  const ask = async (_method: string, path: string, { query = {} }: Sent = {}) => {
    const [[filter] = []] = Object.entries(query);
    const key = filter ? `${path}?${filter}` : path;
    asked.push(key);
    const answer = answers[key];
    if (answer instanceof ApiFailure) throw answer;
    if (!answer) throw new ApiFailure('not-found', 'Not found.', 404);
    return answer;
  };
  return { ask: ask as Api['ask'], asked };
}

const looking = (api: Api, isOperator = true) => ({
  api,
  isOperator,
  signal: new AbortController().signal,
});
const shown = (found: Awaited<ReturnType<typeof findId>>) =>
  found.map(({ kind, href }) => `${kind} ${href}`);

describe('the search for an id', () => {
  it('finds what has it: a server by its history, although it holds nothing now', async () => {
    const api = anApi({
      '/operator/v1/assignments?instance': { assignments: [] },
      '/operator/v1/history?instance': { history: [{}] },
      [`/v2/accelerator_requests/${uuid}`]: { state: 'Bound' },
    });
    const found = shown(await findId(readTerm(uuid), looking(api)));
    expect(found).toContain(`Servers #/servers/${uuid}`);
    expect(found).toContain(`Requests #/requests/${uuid}`);
  });

  it('finds a project that has, or had, an accelerator; another id may be a user', async () => {
    const rows = { '/operator/v1/history?project': { history: [{}] } };
    expect(shown(await findId(readTerm(keystoneId), looking(anApi(rows))))).toEqual([
      `Projects #/usage?project=${keystoneId}`,
      `Projects #/history?project=${keystoneId}`,
    ]);
    expect(shown(await findId(readTerm(keystoneId), looking(anApi({}))))).toEqual([
      `Users #/history?user=${keystoneId}`,
    ]);
  });

  it('asks for no device, and offers no user, for a tenant', async () => {
    const api = anApi({});
    expect(await findId(readTerm(uuid), looking(api, false))).toEqual([]);
    expect(api.asked).not.toContain(`/v2/devices/${uuid}`);
  });

  it('fails while the API cannot be asked', async () => {
    const failure = new ApiFailure('unavailable', 'Away.', 503);
    const api = anApi({ '/operator/v1/history?project': failure });
    await expect(findId(readTerm(keystoneId), looking(api))).rejects.toThrow('Away.');
  });
});

describe('the search for an address or a serial number', () => {
  const hosts = Array.from({ length: 2 * hostsAskedMax }, (_, at) => `cmp${at}`);
  const details = hosts.map((hostname) => {
    const identity = hostname === 'cmp7' ? 'AB123' : null;
    const device = { uuid: `of-${hostname}`, address: '0000:3b:00.0', identity };
    const devices = [device] as unknown as HostDetail['devices'];
    return [`/operator/v1/hosts/${hostname}`, { hostname, devices }];
  });
  const rows = hosts.map((hostname) => ({ hostname })) as Host[];

  it('asks a bounded number of hosts, and those first that the text names', async () => {
    const api = anApi(Object.fromEntries(details));
    const all = await findDevices(readTerm('3b:00.0'), rows, looking(api));
    expect([all.length, api.asked.length]).toEqual([hostsAskedMax, hostsAskedMax]);
    const [one, ...others] = await findDevices(readTerm('cmp99 3b:00.0'), rows, looking(api));
    expect([one?.href, others]).toEqual(['#/devices/of-cmp99', []]);
    expect(await findDevices(readTerm('cmp99 3c:00.0'), rows, looking(api))).toEqual([]);
    const bySerial = await findDevices(readTerm('serial:b12'), rows, looking(api));
    expect(bySerial.map(({ href }) => href)).toEqual(['#/devices/of-cmp7']);
  });
});
