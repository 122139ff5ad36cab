// What the components of devices run, what they must run, and which hosts differ.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { forEachAtOnce } from '#core/operations/for-each-at-once.ts';
import { operatorsApi } from '#test/api/operators-api.ts';
import { aDevice, applySettled, aReport } from '#test/support/reports.ts';
import { sentenceOf } from '#test/support/stored/refusals.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const world = perFile(() => startWorld());
const unknown = '99999999-0000-4000-8000-000000000009';
let operators: ReturnType<typeof operatorsApi>;

/** A card of the model 8086:0b30, in the slot of that number. */
const aCard = (slot: number, versions: Readonly<Record<string, string>>) =>
  aDevice({
    address: `0000:3${slot}:00.0`,
    vendor: '0x8086',
    product: '0x0B30',
    provider_suffix: undefined,
    components: Object.entries(versions).map(([name, version]) => ({ name, version })),
  });

async function report(host: string, ...cards: ReturnType<typeof aCard>[]): Promise<void> {
  sequence += 1;
  await applySettled(world.deps, host, aReport(cards, { sequence }), Date.now());
}
let sequence = 0;

beforeAll(async () => {
  operators = operatorsApi(world);
  const other = aDevice({
    address: '0000:5e:00.0',
    provider_suffix: undefined,
    components: [{ name: 'vbios', version: '94', date: '2026-01-01' }],
  });
  const plain = aDevice({ address: '0000:5f:00.0', provider_suffix: 'Plain' });
  await report('cmp1', aCard(1, { bmc: '1.0', shell: '7' }), other, plain);
  const seven = [1, 2, 3, 4, 5, 6, 7].map((slot) => aCard(slot, { bmc: '1.0' }));
  await report('cmp2', ...seven, aCard(8, { bmc: '2.0' }));
});

const firmware = async (query = '') => (await operators('GET', `/firmware${query}`)).json.firmware;
const put = (id: string, body: unknown = { version: '2.0' }) =>
  operators('PUT', `/firmware/baselines/${encodeURIComponent(id)}`, { body });
const remove = (id: string) => operators('DELETE', `/firmware/baselines/${encodeURIComponent(id)}`);
const listed = async (query = '') =>
  (await operators('GET', `/firmware/baselines${query}`)).json.baselines;

beforeEach(async () => {
  const { baselines } = world.deps.store;
  await forEachAtOnce(await baselines.baselines(), 16, async (each) => {
    await baselines.deleteBaseline(each);
  });
});

describe('GET /operator/v1/firmware', () => {
  it('lists the devices that have components', async () => {
    await put('8086:0b30:bmc');
    expect(await firmware('?host=cmp1&model=0x8086:0b30')).toEqual([]);
    const [card] = await firmware('?host=cmp1&model=8086:0B30');
    expect(card).toMatchObject({
      hostname: 'cmp1',
      model: '8086:0b30',
      status: 'enabled',
      health: null,
      components: [
        { name: 'bmc', version: '1.0', baseline: '2.0' },
        { name: 'shell', version: '7', baseline: null },
      ],
      programs: [],
    });
    const { json } = await world.ask('GET', `/v2/deployables/${card?.shell_deployable_uuid}`);
    expect(json).toMatchObject({ name: 'cmp1_0000:31:00.0' });
    expect(await firmware(`?device=${card?.device_uuid}`)).toEqual([card]);
    expect(await firmware('?model=abcd:abcd')).toMatchObject([
      { components: [{ name: 'vbios', date: '2026-01-01' }], shell_deployable_uuid: null },
    ]);
    expect(await firmware(`?device=${unknown}`)).toEqual([]);
  });

  it('has pages', async () => {
    const all = await firmware();
    expect(all).toHaveLength(10);
    const seen: unknown[] = [];
    let marker = '';
    do {
      const page = await firmware(`?limit=4${marker && `&marker=${marker}`}`);
      seen.push(...page);
      marker = page.length === 4 ? String(page.at(-1)?.device_uuid) : '';
    } while (marker);
    expect(seen).toEqual(all);
  });
});

describe('a baseline', () => {
  it('is set, replaced, listed and removed', async () => {
    expect((await put('8086:0b30:bmc', { version: '1.9' })).status).toBe(200);
    expect((await put('8086:0B30:bmc')).json).toMatchObject({ version: '2.0' });
    await put('8086:0b30:shell', { version: '8' });
    await put('10de:2235:vbios', { version: '94.02' });
    expect(await listed()).toMatchObject([
      { model: '10de:2235', component: 'vbios', version: '94.02', by: expect.any(String) },
      { model: '8086:0b30', component: 'bmc', version: '2.0' },
      { model: '8086:0b30', component: 'shell', version: '8' },
    ]);
    expect(await listed('?limit=1&marker=10de:2235:vbios')).toMatchObject([
      { model: '8086:0b30', component: 'bmc' },
    ]);
    expect((await remove('8086:0b30:bmc')).status).toBe(204);
    const again = await remove('8086:0b30:bmc');
    expect([again.status, sentenceOf(again)]).toEqual([
      404,
      expect.stringContaining('bmc of 8086:0b30 has no baseline'),
    ]);
    expect(await listed()).toHaveLength(2);
  });

  it.each([
    ['8086', { version: '2.0' }, 'must be vendor:product:component'],
    ['8086:bmc', { version: '2.0' }, 'must be vendor:product:component'],
    ['8086:0b30:BMC', { version: '2.0' }, '"BMC" is not the name of a component'],
    ['8086:0b30:bmc', {}, 'version'],
    ['8086:0b30:bmc', { version: '2 0' }, 'version'],
    ['8086:0b30:bmc', { version: '2.0', by: 'me' }, 'by'],
  ])('of %s, %j is refused', async (id, body, sentence) => {
    const answer = await put(id, body);
    expect([answer.status, sentenceOf(answer)]).toEqual([400, expect.stringContaining(sentence)]);
    expect(await listed()).toEqual([]);
  });

  it('is one of 256 at most', async () => {
    const at = new Date().toISOString();
    const components = Array.from({ length: 256 }, (_, index) => `c${index}`);
    await forEachAtOnce(components, 16, async (component) => {
      const baseline = { model: '8086:0b30', component, version: '1', by: 'user', at };
      await world.deps.store.baselines.putBaseline(baseline);
    });
    const answer = await put('8086:0b30:bmc');
    expect([answer.status, sentenceOf(answer)]).toEqual([
      400,
      expect.stringContaining('already has 256 baselines'),
    ]);
    expect((await put('8086:0b30:c7')).json).toMatchObject({ component: 'c7', version: '2.0' });
  });
});

describe('the incident firmware-differs', () => {
  const incidents = async () =>
    (await operators('GET', '/incidents?kind=firmware-differs')).json.incidents;

  it('names some devices of each host that differ', async () => {
    expect(await incidents()).toEqual([]);
    await put('8086:0b30:bmc');
    await put('8086:0b30:shell', { version: '7' });
    const [one, many, ...others] = await incidents();
    expect(others).toEqual([]);
    const [card] = await firmware('?host=cmp1&model=8086:0b30');
    expect(one).toMatchObject({
      hostname: 'cmp1',
      device_uuid: card?.device_uuid,
      reason: 'The device at 0000:31:00.0 (8086:0b30) runs bmc 1.0, not 2.0.',
      next_step: expect.stringContaining('cyborg-ops firmware roll 8086:0b30 bmc'),
    });
    expect(many).toMatchObject({ hostname: 'cmp2', device_uuid: null });
    expect(many?.reason).toMatch(
      /^(The device at [^.]+[^ ]+ \(8086:0b30\) [^.]+\.0, not 2\.0\. ){5}2 more\.$/,
    );
    await put('8086:0b30:shell', { version: '8' });
    expect((await incidents())[0]?.reason).toContain('runs bmc 1.0, not 2.0; shell 7, not 8.');
  });

  it('goes when the baseline does', async () => {
    await put('8086:0b30:bmc');
    expect(await incidents()).toHaveLength(2);
    await remove('8086:0b30:bmc');
    expect(await incidents()).toEqual([]);
  });
});

it.each([
  ['an image that does not exist', unknown, 'model=8086:0b30&component=bmc', 404],
  ['what is not a uuid', 'latest', 'model=8086:0b30&component=bmc', 400],
  ['a request without a component', unknown, 'model=8086:0b30', 400],
])('%s is not checked', async (_, id, query, status) => {
  expect((await operators('GET', `/firmware/images/${id}?${query}`)).status).toBe(status);
});
