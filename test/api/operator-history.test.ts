// History and usage of the operator's API, behind the gateway on one machine.

import { beforeAll, describe, expect, it } from 'vitest';
import { derivedUuid, providerUuid } from '#core/domain/ids.ts';
import { historyWriter } from '#core/store/history/history.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { tableName } from '#core/store/table/tables.ts';
import { aDevice, applySettled, aReport } from '#test/support/reports.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { type Ask, stage, startWorld } from '#test/support/world.ts';
import { operatorsApi } from './operators-api.ts';

const world = perFile(() =>
  startWorld({ consumers: true, settings: { CYBORG_ATTACH_TYPES: 'TEST_PCI' } }),
);
const operator = operatorsApi(world);
const provider = providerUuid('cmp1_FakeDevice');
const instance = 'aaaaaaaa-0000-4000-8000-000000000001';
const other = 'aaaaaaaa-0000-4000-8000-000000000002';
let arq: string;
let lasting: string;

beforeAll(async () => {
  await applySettled(world.deps, 'cmp1', aReport([aDevice({ handles: 3 })]), Date.now());
  await world.createProfile('fpga', { 'resources:FPGA': '1' });
  arq = await boot(instance);
  await world.asNova('DELETE', `/v2/accelerator_requests?instance=${instance}`);
  lasting = await boot(other);
});

async function boot(instance: string): Promise<string> {
  return (await world.createBound('fpga', { provider, instance }))[0];
}

const get = (path: string, ask?: Ask) => operator('GET', path, ask);

async function kindsOf(query: string, ask: Ask = {}): Promise<string[]> {
  const { json } = await get(`/history?order=oldest-first&${query}`, ask);
  return json.history.map(({ kind }) => kind);
}

const whole = ['arq.created', 'handle.claimed', 'handle.released'];

describe('GET /operator/v1/history', () => {
  it('tells what happened to an ARQ, its instance, its project and its host', async () => {
    await eventually(() => kindsOf(`arq=${arq}`)).toEqual(whole);
    await eventually(() => kindsOf(`instance=${instance}`)).toEqual(whole);
    const { json } = await get(`/history?arq=${arq}&kind=handle.claimed`);
    const [{ project_id: project, device_uuid: device }] = json.history;
    await eventually(() => kindsOf(`project=${project}`)).toHaveLength(3);
    expect(await kindsOf(`device=${device}&kind=handle.released`)).toEqual(['handle.released']);
    expect(await kindsOf('host=cmp1&kind=handle.claimed')).toHaveLength(2);
    expect(await kindsOf(`device=${device}&host=cmp2`)).toEqual([]);
    expect(await kindsOf('kind=handle.released')).toEqual(['handle.released']);
  });

  it('tells what a user has asked for', async () => {
    const { json } = await get(`/history?arq=${arq}&kind=arq.created`);
    const user = String(json.history[0].by).replace(/^user:/, '');
    expect(await kindsOf(`arq=${arq}&user=${user}`)).toContain('arq.created');
    expect(await kindsOf(`user=${user}`)).toContain('handle.claimed');
    expect(await kindsOf(`arq=${arq}&user=another`)).toEqual([]);
  });

  it('gives all pages, by the links', async () => {
    await eventually(() => kindsOf('host=cmp1')).toContain('device.added');
    const all = await kindsOf('host=cmp1');
    const found: string[] = [];
    let path: string | undefined = '/history?host=cmp1&order=oldest-first&limit=2';
    while (path) {
      const { json } = await get(path);
      expect(json.history.length).toBeLessThanOrEqual(2);
      found.push(...json.history.map(({ kind }) => kind));
      path = json.history_links?.[0].href.split('/operator/v1')[1];
    }
    expect(found).toEqual(all);
  });

  it('gives all pages of a day, which is read in parts', async () => {
    const all = await kindsOf('limit=1000');
    const found: string[] = [];
    let path: string | undefined = '/history?order=oldest-first&limit=3';
    while (path) {
      const { json } = await get(path);
      found.push(...json.history.map(({ kind }) => kind));
      path = json.history_links?.[0].href.split('/operator/v1')[1];
    }
    expect(found).toEqual(all);
  });

  it('has the host, from its first report on', async () => {
    await eventually(() => kindsOf('host=cmp1&kind=host.booted')).toEqual(['host.booted']);
    expect(await kindsOf('host=cmp1&kind=host.added')).toEqual(['host.added']);
  });

  it('shows a tenant what is its own, and nothing else by any filter', async () => {
    const { json } = await get(`/history?arq=${arq}&kind=handle.claimed`);
    const [{ project_id: project, device_uuid: device }] = json.history;
    const queries = ['', `arq=${arq}`, `instance=${instance}`, `device=${device}`, 'host=cmp1'];
    for (const query of [...queries, `project=${project}`, 'kind=device.added', 'profile=fpga']) {
      expect(await kindsOf(query, { token: 'alt-token' })).toEqual([]);
    }
    expect(await kindsOf(`arq=${arq}`, { token: 'reader-token' })).toEqual(whole);
    expect(await kindsOf('host=cmp1', { token: 'reader-token' })).not.toContain('device.added');
  });
});

describe('GET /operator/v1/history with a marker outside of the range', () => {
  const id = '00000000-0000-4000-8000-000000000000';

  it.each([
    `from=2026-01-02&marker=2026-01-01T00:00:00.000Z%23${id}`,
    `order=oldest-first&to=2026-01-02&marker=9000-01-01T00:00:00.000Z%23${id}`,
    `to=2026-01-02&marker=9000-01-01T00:00:00.000Z%23${id}`,
  ])('%s: an empty page', async (query) => {
    const { status, json } = await get(`/history?host=cmp1&${query}`);
    expect([status, json]).toEqual([200, { history: [] }]);
  });
});

it('gives a tenant no page that ends at a record of another project', async () => {
  const { json } = await get(`/history?arq=${arq}&kind=handle.claimed`);
  const [{ device_uuid: device }] = json.history;
  const { documents, close } = createDocuments();
  const tables = { history: tableName(stage, 'history'), inventory: '' };
  const history = historyWriter(documents, tables, 365);
  // More than one request reads.
  for (let index = 0; index < 40; index += 1) {
    const id = derivedUuid('long', String(index));
    const at = new Date(Date.now() + index).toISOString();
    const record = { id, at, kind: 'handle.claimed', projectId: 'other' } as const;
    const row = {
      ...record,
      hostname: 'cmp1',
      deviceUuid: String(device),
      reason: 'x'.repeat(350_000),
    };
    await history.add(row, { subject: 'host', key: 'cmp1' });
  }
  close();
  const query = `/history?device=${device}&kind=device.removed`;
  expect((await get(query)).json.history_links).toHaveLength(1);
  expect((await get(query, { token: 'alt-token' })).json).toEqual({ history: [] });
});

describe('GET /operator/v1/usage', () => {
  it('counts what ended by the history, and what lasts until now', async () => {
    await eventually(() => kindsOf(`arq=${arq}`)).toEqual(whole);
    const { json: history } = await get(`/history?arq=${arq}&kind=handle.released`);
    const [{ at, since, project_id: project }] = history.history;
    const { json: claims } = await get(`/history?arq=${lasting}&kind=handle.claimed`);
    const { json } = await get(`/usage?project=${project}&resource_class=FPGA`);
    const seconds = (Date.parse(at) - Date.parse(since ?? '')) / 1000;
    const still = (Date.parse(json.to) - Date.parse(claims.history[0].at)) / 1000;
    const sum = json.usage.reduce((total, each) => total + each.accelerator_seconds, 0);
    expect(sum).toBeCloseTo(seconds + still, 6);
    const { json: all } = await get('/usage');
    expect(all.usage.map((each) => each.project_id)).toContain(project);
    const { json: none } = await get('/usage?resource_class=VGPU');
    expect(none.usage).toEqual([]);
  });

  it("shows a tenant no other project's usage", async () => {
    for (const query of ['', '?project=demo', '?resource_class=FPGA']) {
      const { json } = await get(`/usage${query}`, { token: 'alt-token' });
      expect(json.usage).toEqual([]);
    }
    const { json } = await get('/usage', { token: 'reader-token' });
    expect(json.usage).toHaveLength(1);
  });
});
