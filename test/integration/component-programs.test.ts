// Programs of a device's shell and firmware. The test records the host's jobs and ends them;
// everything else is real.

import { beforeEach, describe, expect, it } from 'vitest';
import { deployableAnswer } from '#core/contracts/api/deployables.ts';
import { awaitPowerCycle } from '#core/operations/program/end-program.ts';
import { sweep } from '#core/operations/work-ends/sweep.ts';
import { card, startComponentHost } from '#test/support/hosts/recorded/component-host.ts';
import { perFile } from '#test/support/vitest/shared.ts';

const cmp1 = perFile(startComponentHost);
const evidence = { version: '2.0', before: '1.0', sha256: 'a' };
const details = { evidence: JSON.stringify({ bmc: evidence }) };
const minuteMs = 60_000;

beforeEach(() => cmp1.bootAfresh());

async function requested(image?: string): Promise<string> {
  const id = image ?? (await cmp1.anImage('firmware'));
  expect((await cmp1.program(id)).status).toBe(204);
  return id;
}

async function handleStates() {
  const provider = await cmp1.deps.store.inventory.provider(card);
  return provider?.handles.map(({ release }) => release === undefined);
}

it('disables the device, has the host write the image, and enables the device afterwards', async () => {
  const image = await requested();
  expect(await cmp1.shown()).toMatchObject({
    status: 'maintaining',
    components: [
      { name: 'shell', version: '1' },
      { name: 'bmc', version: '1.0' },
    ],
    programs: [{ what: 'bmc', image_uuid: image, version: '2.0', state: 'started' }],
  });
  await cmp1.startAll();
  const [job] = cmp1.jobs.values();
  expect(job).toMatchObject({
    action: 'program',
    steps: [
      {
        kind: 'program',
        address: '0000:3b:00.0',
        component: 'bmc',
        component_version: '2.0',
        image: { id: image, bytes: 8 },
      },
    ],
  });
  await cmp1.end('succeeded', details);
  expect(await cmp1.shown()).toMatchObject({
    status: 'enabled',
    programs: [{ state: 'done', evidence, requested_by: expect.any(String) }],
  });
  expect(await handleStates()).toEqual([true, true]);
  // The same event again changes nothing.
  await cmp1.end('succeeded', details);
  expect(await cmp1.shown()).toMatchObject({ status: 'enabled' });
});

it('shows how much is written, with the device and with its deployable', async () => {
  await requested();
  await cmp1.startAll();
  const components = [{ name: 'bmc', version: '1.0', percent: 42 }];
  await cmp1.report({ shell: '1', bmc: '1.0' }, { components });
  const { uuid } = (await cmp1.deps.store.inventory.provider(card))?.deployable ?? {};
  const path = `/v2/deployables/${uuid}`;
  const percents = async () => {
    const { json } = await cmp1.world.ask('GET', path, { token: 'admin-token' });
    const { programs } = deployableAnswer.parse(json);
    return [(await cmp1.shown()).programs, programs.filter(({ what }) => what === 'bmc')];
  };
  expect(await percents()).toMatchObject([[{ percent: 42 }], [{ percent: 42 }]]);
  await cmp1.end('succeeded', details);
  expect(await percents()).toMatchObject([[{ percent: null }], [{ percent: null }]]);
});

it('changes nothing when it is asked again for the same image', async () => {
  const image = await requested();
  const ids = await cmp1.awaited();
  await requested(image);
  expect(await cmp1.awaited()).toEqual(ids);
  await cmp1.startAll();
  await cmp1.end('succeeded', details);
  await cmp1.report({ shell: '1', bmc: '2.0' });
  await requested(image);
  expect([await cmp1.awaited(), (await cmp1.shown()).status]).toEqual([[], 'enabled']);
});

it('refuses another image, and the shell, until the program has ended', async () => {
  await requested();
  const other = await cmp1.anImage('other', { version: '2.1' });
  expect(await cmp1.program(other)).toMatchObject({
    status: 409,
    json: { error: expect.stringMatching(/cannot be programmed now: its attach handle .* is /) },
  });
});

it('programs the shell by the path of a deployable', async () => {
  const image = await cmp1.anImage('shell', { component: 'shell', version: '2' });
  const { uuid } = (await cmp1.deps.store.inventory.provider(card))?.deployable ?? {};
  const body = [{ op: 'add', path: '/shell', value: image }];
  const path = `/v2/deployables/${uuid}`;
  expect((await cmp1.world.ask('PATCH', path, { token: 'admin-token', body })).status).toBe(200);
  await cmp1.startAll();
  expect([...cmp1.jobs.values()][0]).toMatchObject({ steps: [{ component: 'shell' }] });
  const { json } = await cmp1.world.ask('GET', path, { token: 'admin-token' });
  expect(json).toMatchObject({
    programs: expect.arrayContaining([
      expect.objectContaining({ what: 'shell', state: 'started', version: '2' }),
    ]),
  });
});

it('refuses a second path of a deployable by its name, and changes nothing', async () => {
  const { uuid } = (await cmp1.deps.store.inventory.provider(card))?.deployable ?? {};
  const value = await cmp1.anImage('shell', { component: 'shell', version: '2' });
  const body = ['/shell', '/bitstream'].map((path) => ({ op: 'add', path, value }));
  const asked = { token: 'admin-token', body };
  const answer = await cmp1.world.ask('PATCH', `/v2/deployables/${uuid}`, asked);
  const sentence = /\[1\].*"\/bitstream" must be sent in a request of its own/;
  expect([answer.status, answer.json.error]).toEqual([400, expect.stringMatching(sentence)]);
  expect([(await cmp1.shown()).status, await cmp1.awaited()]).toEqual(['enabled', []]);
});

it('leaves the device disabled with the reason after a failure, until a program succeeds', async () => {
  await requested();
  await cmp1.startAll();
  await cmp1.end('failed', { reason: 'Step 1/1: write of bmc: EIO: programming:hw-error.' });
  expect(await cmp1.shown()).toMatchObject({
    status: 'maintaining',
    programs: [{ state: 'failed', reason: expect.stringContaining('write of bmc: EIO') }],
  });
  await requested(await cmp1.anImage('better', { version: '2.2' }));
  await cmp1.startAll();
  await cmp1.end('succeeded', details);
  expect(await cmp1.shown()).toMatchObject({ status: 'enabled', programs: [{ state: 'done' }] });
});

it('keeps a device disabled that an operator had disabled', async () => {
  await cmp1.patch([{ op: 'replace', path: '/status', value: 'disabled', reason: 'fan' }]);
  await requested();
  await cmp1.startAll();
  await cmp1.end('succeeded', details);
  expect(await cmp1.shown()).toMatchObject({ status: 'maintaining', reason: 'fan' });
});

it('is refused while a server has the device', async () => {
  await cmp1.world.createProfile('fpga', { 'resources:FPGA': '1' });
  const arqs = await cmp1.world.createArqs('fpga');
  const instance = 'aaaaaaaa-0000-4000-8000-000000000001';
  await cmp1.world.bindArqs(arqs, { provider: card, instance });
  expect((await cmp1.program(await cmp1.anImage('firmware'))).status).toBe(409);
  expect(await cmp1.shown()).toMatchObject({ status: 'enabled', programs: expect.any(Array) });
  await cmp1.remove(instance);
});

it('is not bound meanwhile', async () => {
  await requested();
  await cmp1.world.createProfile('meanwhile', { 'resources:FPGA': '1' });
  const arqs = await cmp1.world.createArqs('meanwhile');
  const instance = 'aaaaaaaa-0000-4000-8000-000000000002';
  expect((await cmp1.world.bindArqs(arqs, { provider: card, instance })).status).toBe(409);
});

describe('a boot', () => {
  it('has the host asked again in its new boot', async () => {
    await requested();
    await cmp1.startAll();
    await cmp1.boot();
    await cmp1.startAll();
    expect(cmp1.jobs.size).toBe(2);
    expect(await cmp1.shown()).toMatchObject({ programs: [{ state: 'started' }] });
    await cmp1.end('succeeded', details);
    expect(await cmp1.shown()).toMatchObject({ status: 'enabled', programs: [{ state: 'done' }] });
  });

  it('keeps the end of the new program when the old one ends late', async () => {
    await requested();
    const [id = ''] = await cmp1.awaited();
    const old = await cmp1.deps.store.releases.program(id);
    if (!old) throw new Error('The program is not stored.');
    await cmp1.boot();
    await cmp1.startAll();
    await cmp1.end('succeeded', details);
    await awaitPowerCycle(cmp1.deps, old, undefined);
    expect(await cmp1.shown()).toMatchObject({ status: 'enabled', programs: [{ state: 'done' }] });
  });

  it('ends the wait for a power cycle when the host says so', async () => {
    await requested();
    await cmp1.startAll();
    await cmp1.end('succeeded', { ...details, awaits: 'power-cycle' });
    const waiting = { status: 'maintaining', programs: [{ state: 'awaiting-power-cycle' }] };
    expect(await cmp1.shown()).toMatchObject(waiting);
    await sweep({ ...cmp1.deps, clock: () => Date.now() + 200 * minuteMs });
    expect(await cmp1.shown()).toMatchObject(waiting);
    await cmp1.boot();
    await cmp1.startAll();
    await cmp1.end('succeeded', { ...details, awaits: 'power-cycle' });
    expect(await cmp1.shown()).toMatchObject(waiting);
    await cmp1.boot({ shell: '1', bmc: '2.0' });
    await cmp1.startAll();
    await cmp1.end('succeeded', details);
    expect(await cmp1.shown()).toMatchObject({ status: 'enabled', programs: [{ state: 'done' }] });
  });
});

it('takes the report for the answer when the event of the end is lost', async () => {
  await requested();
  await cmp1.startAll();
  await cmp1.end('succeeded');
  expect(await cmp1.shown()).toMatchObject({ programs: [{ state: 'awaiting-power-cycle' }] });
});

describe('a device that an operator enables is not bound', () => {
  const instance = 'aaaaaaaa-0000-4000-8000-000000000004';
  const bind = async () => {
    await cmp1.patch([{ op: 'replace', path: '/status', value: 'enabled' }]);
    const arqs = await cmp1.world.createArqs('enabled');
    return await cmp1.world.bindArqs(arqs, { provider: card, instance });
  };

  beforeEach(() => cmp1.world.createProfile('enabled', { 'resources:FPGA': '1' }));

  it('while it is programmed', async () => {
    await requested();
    await cmp1.startAll();
    expect((await bind()).json.error).toMatch(/is disabled/);
    await cmp1.end('succeeded', { ...details, awaits: 'power-cycle' });
    expect((await bind()).json.error).toMatch(/is disabled/);
  });

  it('before its host has reported it after a program that failed', async () => {
    await requested();
    await cmp1.startAll();
    await cmp1.end('failed', { reason: 'Step 1/1: write of bmc: EIO.' });
    expect((await bind()).json.error).toMatch(
      /is withheld: the program of bmc failed: .*write of bmc: EIO/,
    );
    await cmp1.report({ shell: '1', bmc: '1.0' });
    expect((await bind()).status).toBe(202);
    await cmp1.remove(instance);
  });
});

it('stays healthy when the host has refused the program', async () => {
  await requested();
  await cmp1.startAll();
  await cmp1.end('failed', { reason: 'Step 1/1: no such component.', fault: 'request' });
  expect(await cmp1.device()).not.toHaveProperty('health');
});

it('quarantines the device when the host does not answer', async () => {
  await requested();
  await cmp1.startAll();
  await sweep({ ...cmp1.deps, clock: () => Date.now() + 80 * minuteMs });
  expect(await cmp1.shown()).toMatchObject({
    status: 'maintaining',
    programs: [{ state: 'failed', reason: expect.stringMatching(/did not confirm within \d+ s/) }],
  });
});

it('is given up when the image has changed before the host was asked', async () => {
  await requested();
  const findImage = async () => ({ id: 'x', properties: { 'accel:component': 'vbios' } });
  const { glance } = cmp1.deps.clients;
  const clients = { ...cmp1.deps.clients, glance: { ...glance, findImage } };
  const { startProgram } = await import('#core/operations/program/start-program.ts');
  for (const id of await cmp1.awaited()) await startProgram({ ...cmp1.deps, clients }, id);
  expect([cmp1.jobs.size, (await cmp1.shown()).programs[0]?.state]).toEqual([0, 'failed']);
});

describe('an image is refused, and nothing changes: it', () => {
  const cases: Record<string, [() => Promise<string>, RegExp]> = {
    'is not signed': [() => cmp1.anImage('x', {}, 'none'), /is not signed/],
    'is signed by another key': [
      () => cmp1.anImage('x', {}, 'wrong'),
      /fits none of the keys of this deployment: release/,
    ],
    'is for another card': [
      () => cmp1.anImage('x', { models: '10de:2235' }),
      /is for 10de:2235, and the device is 8086:0b30/,
    ],
    'is for another component': [
      () => cmp1.anImage('x', { component: 'vbios' }),
      /is for component vbios, not for bmc/,
    ],
    'is older than the floor': [
      () => cmp1.anImage('x', { version: '1.4.9' }),
      /must not be older than 1\.5/,
    ],
    'has no version': [() => cmp1.anImage('x', { version: null }), /no property accel:version/],
  };

  it.each(Object.entries(cases))('%s', async (_case, [make, sentence]) => {
    const answer = await cmp1.program(await make());
    expect([answer.status, answer.json.error]).toEqual([409, expect.stringMatching(sentence)]);
    expect((await cmp1.shown()).status).toBe('enabled');
    expect(await cmp1.awaited()).toEqual([]);
  });
});

describe('a request is refused, and nothing changes: it names', () => {
  const value = '99999999-0000-4000-8000-000000000009';
  const cases: Record<string, [unknown, number, RegExp]> = {
    'a component that the device lacks': [
      [{ op: 'add', path: '/firmware/vbios', value }],
      400,
      /no component vbios that can be programmed; it has shell, bmc/,
    ],
    'the shell, which has a path of its own': [
      [{ op: 'add', path: '/firmware/shell', value }],
      400,
      /must be \/firmware or/,
    ],
    'two components': [
      [
        { op: 'add', path: '/firmware/bmc', value },
        { op: 'add', path: '/firmware/vbios', value },
      ],
      400,
      /\[1\].*"\/firmware\/vbios" must be sent in a request of its own/,
    ],
    'an image that does not exist': [
      [{ op: 'add', path: '/firmware/bmc', value }],
      404,
      /no image/,
    ],
    'no image': [[{ op: 'add', path: '/firmware/bmc', value: 'latest' }], 400, /value/],
  };

  it.each(Object.entries(cases))('%s', async (_case, [body, status, sentence]) => {
    const answer = await cmp1.patch(body);
    expect([answer.status, answer.json.error]).toEqual([status, expect.stringMatching(sentence)]);
    expect((await cmp1.shown()).status).toBe('enabled');
  });
});

describe('a device that is drained first', () => {
  const instance = 'aaaaaaaa-0000-4000-8000-000000000003';
  const drain = async (image: string) =>
    cmp1.patch([{ op: 'add', path: '/firmware/bmc', value: image, drain: true }]);
  const sweepIn = (minutes: number) =>
    sweep({ ...cmp1.deps, clock: () => Date.now() + minutes * minuteMs });

  async function taken(): Promise<void> {
    await cmp1.world.createProfile('drained', { 'resources:FPGA': '1' });
    await cmp1.world.bindArqs(await cmp1.world.createArqs('drained'), { provider: card, instance });
  }

  beforeEach(taken);

  it('is disabled at once, and programmed when its server has gone', async () => {
    const image = await cmp1.anImage('firmware');
    expect((await drain(image)).status).toBe(204);
    expect((await drain(image)).status).toBe(204);
    await cmp1.startAll();
    await sweepIn(2);
    const waiting = { status: 'maintaining', programs: [{ state: 'draining' }] };
    expect([await cmp1.shown(), cmp1.jobs.size]).toEqual([expect.objectContaining({}), 0]);
    expect(await cmp1.shown()).toMatchObject(waiting);
    expect((await drain(await cmp1.anImage('other', { version: '3' }))).status).toBe(409);
    await cmp1.remove(instance);
    await sweepIn(4);
    expect(await cmp1.shown()).toMatchObject({ programs: [{ state: 'started' }] });
    await cmp1.startAll();
    expect(cmp1.jobs.size).toBe(1);
    await cmp1.end('succeeded', details);
    expect(await cmp1.shown()).toMatchObject({ status: 'enabled', programs: [{ state: 'done' }] });
  });

  it('is not programmed after an operator has enabled it', async () => {
    await drain(await cmp1.anImage('firmware'));
    await cmp1.patch([{ op: 'replace', path: '/status', value: 'enabled' }]);
    await cmp1.remove(instance);
    await sweepIn(2);
    expect(await cmp1.shown()).toMatchObject({
      status: 'enabled',
      programs: [{ state: 'failed' }],
    });
    expect(await cmp1.awaited()).toEqual([]);
  });
});
