// The life of a device profile after its creation: revisions, names, who sees it, and whether new
// servers may have it.

import { beforeAll, describe, expect, it } from 'vitest';
import type * as z from 'zod';
import type { operatorProfile } from '#core/contracts/api/device-profiles.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { idOf } from '#local/openstack/keystone/catalog.ts';
import { operatorsApi } from '#test/api/operators-api.ts';
import { aDevice, applySettled, aReport } from '#test/support/reports.ts';
import { allocate } from '#test/support/stored/allocations.ts';
import { sentenceOf } from '#test/support/stored/refusals.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { type Ask, startWorld } from '#test/support/world.ts';

const settings = { CYBORG_ATTACH_TYPES: 'TEST_PCI' };
const world = perFile(() => startWorld({ consumers: true, settings }));
const one = { 'resources:FPGA': '1' };
const two = { 'resources:FPGA': '2' };
const nvme = { 'resources:CUSTOM_NVME': '1' };
const provider = providerUuid('cmp1_FakeDevice');
const second = providerUuid('cmp1_Second');

let operators: ReturnType<typeof operatorsApi>;
beforeAll(async () => {
  operators = operatorsApi(world);
  await world.startComputeNode('cmp1');
  const devices = [
    aDevice({ handles: 8 }),
    aDevice({ address: '0000:0f:00.0', provider_suffix: 'Second' }),
  ];
  await applySettled(world.deps, 'cmp1', aReport(devices), Date.now());
});

const operator = (method: string, path: string, ask?: Ask) =>
  operators(method, `/device_profiles${path}`, ask);
const profileIn = ({ json }: Awaited<ReturnType<typeof operator>>) =>
  json as unknown as z.infer<typeof operatorProfile>;
const read = async (name: string) => profileIn(await operator('GET', `/${name}`));
const put = (name: string, body: object, ifMatch?: string) =>
  operator('PUT', `/${name}`, { body, ...(ifMatch && { headers: { 'If-Match': ifMatch } }) });
const cyborgs = (path: string, token = 'demo-token') =>
  world.ask('GET', `/v2/device_profiles${path}`, { token, microversion: 'accelerator 2.2' });
const createArq = (name: string) =>
  world.asNova('POST', '/v2/accelerator_requests', { device_profile_name: name });
const refusal = (answer: Awaited<ReturnType<typeof operator>>) => [
  answer.status,
  sentenceOf(answer),
];

describe('an update', () => {
  it('writes a revision, and leaves ARQs what they were made from', async () => {
    await world.createProfile('edited', one);
    const [before] = await world.createArqs('edited');
    const { uuid } = await read('edited');
    const answer = await put('edited', { name: 'edited', description: 'd', groups: [two] }, '"1"');
    expect(answer.headers.get('etag')).toBe('"2"');
    expect(answer.json).toMatchObject({ uuid, revision: 2, description: 'd', groups: [two] });
    const after = await world.createArqs('edited');
    expect(after).toHaveLength(2);
    const stored = await world.deps.store.arqs.byUuids([before, ...after]);
    expect(
      [...stored.values()].map(({ group, profileRevision }) => [group, profileRevision]),
    ).toEqual([
      [one, 1],
      [two, 2],
      [two, 2],
    ]);
  });

  it('that changes nothing writes no revision', async () => {
    const same = { name: 'edited', description: 'd', groups: [two] };
    expect(profileIn(await put('edited', same)).revision).toBe(2);
  });

  it('of other fields keeps the alternatives, and null removes them', async () => {
    await world.createProfile('either', one);
    expect((await read('either')).alternatives).toEqual([]);
    const given = { name: 'either', groups: [one], alternatives: [[nvme], [one]] };
    expect(profileIn(await put('either', given)).alternatives).toEqual([[nvme], [one]]);
    const { revision } = profileIn(await put('either', { name: 'either', groups: [one] }));
    expect(revision).toBe(2);
    const misfit = refusal(await put('either', { name: 'either', groups: [two] }));
    expect(misfit).toEqual([400, expect.stringMatching(/^alternatives\[0\], group 0 asks for/)]);
    const without = await put('either', { ...given, alternatives: null });
    expect(without.json).toMatchObject({ revision: 3, alternatives: [] });
  });

  it('of a revision that is gone is refused with 412', async () => {
    expect(refusal(await put('edited', { name: 'edited', groups: [one] }, '"1"'))).toEqual([
      412,
      'Device profile edited has revision 2 now: read it again.',
    ]);
    expect((await read('edited')).groups).toEqual([two]);
  });

  it('beside another one is one of the two revisions that follow', async () => {
    await world.createProfile('raced', one);
    const groups = [nvme];
    const answers = await Promise.all(
      ['a', 'b', 'c'].map((description) => put('raced', { name: 'raced', description, groups })),
    );
    expect(answers.map((each) => profileIn(each).revision).sort()).toEqual([2, 3, 4]);
    expect((await read('raced')).revision).toBe(4);
  });

  it.each([
    ['nope', { name: 'nope', groups: [one] }, undefined, 404, 'nope not found'],
    ['raced', { name: 'raced', groups: [] }, undefined, 400, 'at least one group'],
    ['raced', { name: 'ra ced', groups: [one] }, undefined, 400, "letters, digits, '-' and '_'"],
    ['raced', { name: 'edited', groups: [one] }, undefined, 409, 'name edited exists'],
    ['raced', { name: 'raced', groups: [one] }, 'new', 400, 'If-Match'],
    ['raced', { name: 'raced', groups: [one], projects: [] }, undefined, 400, 'projects'],
    ['raced', { name: 'raced', groups: [one], projects: ['a b'] }, undefined, 400, 'Keystone'],
    ['raced', { name: 'raced', groups: [one], revision: 1 }, undefined, 400, 'revision'],
  ])('of %s by %j is refused: %s', async (name, body, ifMatch, status, sentence) => {
    const answer = await put(name, body, ifMatch);
    expect(refusal(answer)).toEqual([status, expect.stringContaining(sentence)]);
  });
});

describe('a renamed profile', () => {
  beforeAll(async () => {
    await world.createProfile('old', one);
    await put('old', { name: 'new', groups: [one] });
  });

  it('has its uuid, and its ARQs and servers find it by both names', async () => {
    expect(await read('new')).toMatchObject({ former_names: ['old'], revision: 2 });
    for (const path of ['?name=old', '?name=new', '?name=old,new']) {
      const { json } = await cyborgs(path);
      expect(json.device_profiles.map(({ name }) => name)).toEqual(['new']);
    }
    expect((await createArq('old')).json.arqs[0]?.device_profile_name).toBe('new');
    const { json } = await cyborgs('');
    const names = json.device_profiles.map(({ name }) => name);
    expect(names).toContain('new');
    expect(names).not.toContain('old');
  });

  it('keeps its earlier name, which no other profile can have', async () => {
    expect(await world.createProfile('old', one)).toMatchObject({ status: 409 });
    await world.createProfile('other', one);
    expect(await put('other', { name: 'old', groups: [one] })).toMatchObject({ status: 409 });
  });

  it('may take its earlier name back', async () => {
    const { json } = await put('new', { name: 'old', groups: [one] });
    expect(json).toMatchObject({ name: 'old', former_names: ['new'], revision: 3 });
    expect((await read('new')).name).toBe('old');
  });

  it('has at most eight earlier names', async () => {
    await world.createProfile('n0', one);
    for (let n = 1; n <= 8; n++) await put(`n${n - 1}`, { name: `n${n}`, groups: [one] });
    expect(refusal(await put('n8', { name: 'n9', groups: [one] }))).toEqual([
      400,
      expect.stringContaining('already has 8 former names, the maximum: n0, n1'),
    ]);
  });

  it('frees all of its names when it is deleted, and not before its ARQs are', async () => {
    const [uuid] = await world.createArqs('n0');
    const remove = () => world.ask('DELETE', '/v2/device_profiles/n8');
    expect((await remove()).status).toBe(409);
    await world.ask('DELETE', `/v2/accelerator_requests?arqs=${uuid}`);
    expect((await remove()).status).toBe(204);
    expect(await world.createProfile('n3', one)).toMatchObject({ status: 201 });
  });
});

describe('a disabled profile', () => {
  beforeAll(() => world.createProfile('worn', one));

  it('refuses new ARQs with the reason, and is shown as before', async () => {
    const [kept] = await world.createArqs('worn');
    const body = { reason: 'use fpga-2 instead' };
    expect((await operator('POST', '/worn/disable', { body })).json).toMatchObject({
      revision: 2,
      disabled: { by: `user:${idOf('user', 'admin')}`, reason: body.reason },
    });
    expect(refusal(await createArq('worn'))).toEqual([
      409,
      'Device profile worn is disabled: use fpga-2 instead',
    ]);
    expect((await cyborgs('?name=worn')).json.device_profiles).toHaveLength(1);
    expect((await world.bindArqs(kept, { provider, instance: instance() })).status).toBe(202);
    expect(profileIn(await operator('POST', '/worn/disable', { body })).revision).toBe(2);
  });

  it('is enabled again', async () => {
    expect((await operator('POST', '/worn/enable')).json).toMatchObject({ disabled: null });
    expect((await createArq('worn')).status).toBe(201);
  });

  it.each([
    ['without a reason', '/worn/disable', {}, 400, 'reason'],
    ['that does not exist', '/nope/disable', { reason: 'x' }, 404, 'nope'],
  ])('%s is refused', async (_, path, body, status, sentence) => {
    const answer = await operator('POST', path, { body });
    expect(refusal(answer)).toEqual([status, expect.stringContaining(sentence)]);
  });
});

describe('a profile of some projects', () => {
  const demo = idOf('project', 'demo');

  beforeAll(async () => {
    await world.createProfile('theirs', one);
    await put('theirs', { name: 'theirs', groups: [one], projects: [demo] });
  });

  it.each([
    ['demo-token', true],
    ['alt-token', false],
    // Administrators and services act for all projects.
    ['admin-token', true],
    ['telemetry-token', true],
  ])('is seen with %s: %j', async (token, isSeen) => {
    const named = (await cyborgs('?name=theirs', token)).json.device_profiles;
    const listed = (await cyborgs('?limit=1000', token)).json.device_profiles;
    const capacity = await world.ask('GET', '/operator/v1/capacity?profile=theirs', { token });
    const created = await world.ask('POST', '/v2/accelerator_requests', {
      token,
      serviceToken: 'nova-token',
      body: { device_profile_name: 'theirs' },
    });
    const shown = await cyborgs('/theirs', token);
    const found = [shown, capacity].map(({ status }) => status);
    expect([named.length, listed.some(({ name }) => name === 'theirs'), ...found]).toEqual(
      isSeen ? [1, true, 200, 200] : [0, false, 404, 404],
    );
    expect(created.status).toBe(isSeen ? 201 : 404);
  });

  it('leaves the pages of other projects full', async () => {
    const { json } = await cyborgs('?limit=2&sort_key=uuid', 'alt-token');
    expect(json.device_profiles).toHaveLength(2);
  });
});

describe('a bind soon after a change of amounts', () => {
  beforeAll(() => world.createProfile('grown', one));

  it('is refused if Placement has allocated by the earlier amounts', async () => {
    const id = instance();
    await allocated(id, 1);
    await put('grown', { name: 'grown', groups: [two] });
    const answer = await world.bindArqs(await world.createArqs('grown'), {
      provider,
      instance: id,
    });
    expect(refusal(answer)).toEqual([
      400,
      `Device profile grown was changed while instance ${id} was scheduled: of resource provider ${provider}, ` +
        'Placement allocated 1 FPGA, and the accelerator requests ask for 2 FPGA. Create the server again.',
    ]);
  });

  it('goes on if Placement has allocated by the later ones', async () => {
    const id = instance();
    await allocated(id, 2);
    const answer = await world.bindArqs(await world.createArqs('grown'), {
      provider,
      instance: id,
    });
    expect(answer.status).toBe(202);
  });

  it('is refused if a device is allocated that no group asks for any more', async () => {
    const id = instance();
    await put('grown', { name: 'grown', groups: [nvme] });
    await put('grown', { name: 'grown', groups: [one] });
    await allocated(id, 1, second);
    const answer = await world.bindArqs(await world.createArqs('grown'), {
      provider,
      instance: id,
    });
    expect(refusal(answer)).toEqual([400, expect.stringContaining('Placement allocated nothing')]);
  });
});

it('the history has each revision with what it changed, and who', async () => {
  const of = async (profile: string) => {
    const { json } = await world.ask('GET', `/operator/v1/history?profile=${profile}`);
    return json.history.map(({ kind, reason }) => [kind, reason]);
  };
  await eventually(() => of('worn')).toEqual([
    ['profile.changed', 'enabled'],
    ['profile.changed', 'disabled: use fpga-2 instead'],
    ['profile.created', null],
  ]);
  await eventually(() => of('new')).toEqual([['profile.changed', 'name old → new']]);
  await eventually(() => of('edited')).toEqual([
    ['profile.changed', 'resources:FPGA → resources:FPGA=2; description'],
    ['profile.created', null],
  ]);
});

let instances = 0;
function instance(): string {
  instances += 1;
  return `77cc0000-0000-4000-8000-${String(instances).padStart(12, '0')}`;
}

/** Once the devices are in Placement. */
const allocated = (id: string, amount: number, of = provider) =>
  eventually(() => allocate(world, id, of, amount)).toBe(204);
