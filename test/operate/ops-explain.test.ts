// `cyborg-ops explain`: what a server holds, what happened, and what to do.

import { expect, it } from 'vitest';
import { perFile } from '#test/support/vitest/shared.ts';
import { type Answer, callOps, startFakeCloud } from './fake-operator-api.ts';

const cloud = perFile(startFakeCloud);
const server = '7d8e9f0a-1b2c-4d3e-8f4a-5b6c7d8e9f0a';
const ok = (body: object): Answer => ({ status: 200, body });
const held = (...assignments: object[]) => ok({ assignments });
const story = (...history: object[]) => ok({ history });
const incidents = (...rows: object[]) => ok({ incidents: rows });

const created = { id: 'r1', at: '2026-11-23T00:00:00Z', kind: 'arq.created', by: 'user:u1' };
const claimed = { ...created, id: 'r2', kind: 'handle.claimed', hostname: 'cmp1' };
const reason = 'The card does not answer.';
const failed = { ...claimed, id: 'r3', kind: 'bind.failed', by: 'agent', reason };
const released = { ...claimed, id: 'r4', kind: 'handle.released' };
const call = { method: 'POST', path: '/v2/accelerator_requests', status: 403 };
const refused = { ...created, id: 'r5', kind: 'call.refused', reason: 'Quota exceeded.', call };
const failure = { kind: 'failed-bind', hostname: 'cmp1', reason, next_step: 'Mend the card.' };

async function explain(...answers: Answer[]) {
  cloud.answer(...answers);
  const { out, exitCode } = await callOps(cloud, ['explain', server]);
  return { exitCode, lines: out.split('\n') };
}

it('a server with an accelerator: where, and since when', async () => {
  const assignment = { arq_uuid: 'a1', hostname: 'cmp1', device_address: '0000:3b:00.0' };
  const { lines, exitCode } = await explain(
    held({ ...assignment, arq_state: 'Bound', resource_class: 'PGPU' }),
    story(created, claimed),
    incidents(),
  );
  expect(exitCode).toBe(0);
  expect(lines[0]).toBe(`${server} has 1 accelerator.`);
  expect(lines[3]).toMatch(/^cmp1 +0000:3b:00.0 +PGPU +Bound/);
  expect(lines.slice(-2).map((line) => line.split(/ +/)[1])).toEqual([
    'arq.created',
    'handle.claimed',
  ]);
  expect(cloud.asked.map(({ path }) => path.split('/').at(-1)?.split('&limit')[0])).toEqual([
    `assignments?instance=${server}`,
    `history?instance=${server}&order=oldest-first`,
    'incidents?kind=device-not-attached',
    'incidents?kind=failed-bind',
    'incidents?kind=stuck-job',
    'incidents?kind=reaper-waits',
  ]);
});

it('a server whose host may have rebooted: why it cannot start now', async () => {
  const assignment = { arq_uuid: 'a1', hostname: 'cmp1', arq_state: 'unknown' };
  const { lines } = await explain(held(assignment), story(created, claimed), incidents());
  const reason = 'host cmp1 is not connected and may have rebooted. Try again.';
  expect(lines[0]).toContain(`${server} has 1 accelerator. `);
  expect(lines[0]).toContain(reason);
});

it('a failed bind: the reason, and the next step of its own incident', async () => {
  const { lines } = await explain(
    held(),
    story(created, claimed, failed),
    incidents({ ...failure, instance_uuid: 'another', next_step: 'Not this one.' }),
    incidents({ ...failure, instance_uuid: server }),
    incidents(),
  );
  expect(lines[0]).toBe(`${server} has no accelerator: its bind on cmp1 failed: ${reason}`);
  expect(lines.at(-1)).toBe('Mend the card.');
  expect(lines).not.toContain('Not this one.');
});

it('a failed bind whose handle was given back a moment later: the reason, too', async () => {
  const { lines } = await explain(held(), story(created, claimed, failed, released), incidents());
  expect(lines[0]).toContain(reason);
});

it('a tenant, who may not read incidents, gets the story', async () => {
  const { lines, exitCode } = await explain(held(), story(failed), { status: 403 });
  expect(exitCode).toBe(0);
  expect(lines[0]).toContain(reason);
});

it.each([
  ['gave back what it had', [created, claimed, released], 0],
  ['gave back what it had', [created, claimed, failed, released, claimed, released], 0],
  ['no bind of its requests has begun', [created], 0],
  ['is in no request and in no record', [], 1],
] as const)('no accelerator: %s', async (sentence, records, code) => {
  const none = Array.from({ length: 4 }, () => incidents());
  const { lines, exitCode } = await explain(held(), story(...records), ...none, story());
  expect(lines[0]).toContain(sentence);
  expect(exitCode).toBe(code);
});

it('a refused request, which names no server: the reason, among those of the time', async () => {
  const other = { ...refused, call: { ...call, path: '/operator/v1/holds' }, reason: 'Not it.' };
  const late = { ...refused, at: '2026-11-23T00:01:00Z', reason: 'Keystone is away.' };
  const { lines, exitCode } = await explain(
    held(),
    story(),
    ...[incidents(), incidents(), incidents(), incidents()],
    story(other, refused),
    story(late),
  );
  expect(exitCode).toBe(0);
  expect(lines[0]).toContain('or its request was refused');
  const reasons = lines.flatMap(
    (line) => /Quota exceeded|Keystone is away|Not it/.exec(line)?.[0] ?? [],
  );
  expect(reasons).toEqual(['Keystone is away', 'Quota exceeded']);
});

it('a bind that was refused without a service token: the reason, if it names the server', async () => {
  const given = `{"instance":"${server}"}`;
  const bind = { ...refused, call: { ...call, method: 'PATCH', given }, reason: 'No token.' };
  const other = { ...bind, call: { ...bind.call, given: '{}' }, reason: 'Not it.' };
  const none = Array.from({ length: 4 }, () => incidents());
  const { lines } = await explain(held(), story(), ...none, story(bind, other), story());
  expect(lines.flatMap((line) => /No token|Not it/.exec(line)?.[0] ?? [])).toEqual(['No token']);
});

it('a bind that was not answered: the reason', async () => {
  const bind = { ...call, method: 'PATCH', status: 503 };
  const away = { ...created, id: 'r6', kind: 'call.failed', reason: 'Nova is away.', call: bind };
  const { lines } = await explain(held(), story(created, away), incidents());
  expect(lines[0]).toBe(`${server} has no accelerator: its bind failed: Nova is away.`);
  const deletion = { ...away, call: { ...bind, method: 'DELETE' } };
  const none = Array.from({ length: 4 }, () => incidents());
  const gone = await explain(held(), story(claimed, deletion, released), ...none, story());
  expect(gone.lines[0]).toContain('gave back what it had');
});

it('a server with an accelerator, or a failed bind: no refused request is read', async () => {
  await explain(held({ arq_uuid: 'a1' }), story(created, claimed), incidents());
  await explain(held(), story(failed), incidents());
  expect(cloud.asked.filter(({ path }) => path.includes('call.'))).toEqual([]);
});
