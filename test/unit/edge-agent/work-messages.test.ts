import { describe, expect, it } from 'vitest';
import { systemClock } from '#agent/clock.ts';
import type { CardsMessage } from '#core/contracts/jobs/work-message.ts';
import { workEndTopic, workTopic } from '#core/contracts/topics.ts';
import { type TestSession, thing } from '#test/support/hosts/agent-session.ts';
import { aGate, aJobHost, create, document, remove, uuid } from '#test/support/hosts/job-host.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { directoryPerTest } from '#test/support/vitest/shared.ts';

const directory = directoryPerTest();
const inMinutes = (count: number) => new Date(Date.now() + count * 60_000).toISOString();
const message = (job_id: string, work: unknown, valid_until = inMinutes(5)) => ({
  job_id,
  valid_until,
  document: work,
});

function answersOf({ published }: TestSession) {
  return published.filter(({ topic }) => topic === workEndTopic('test', thing));
}

/** A host that has prepared the mdev of that number; its clock may be wrong. */
async function aHostWith(number: number, aheadMs?: number) {
  const clock = { ...systemClock, wallMs: () => Date.now() + (aheadMs ?? 0) };
  const host = await aJobHost(directory, { clock });
  if (aheadMs !== undefined) host.service.seconds = Math.floor(Date.now() / 1000);
  const { session } = host.connect();
  const job = await host.service.create(document('prepare', { steps: [create(number)] }));
  await eventually(() => host.service.job(job).status).toBe('SUCCEEDED');
  const send = (sent: unknown) => session.receive(workTopic('test', thing), sent);
  return { ...host, session, send };
}

const cleaning = document('release', { bind_id: uuid(99), steps: [remove(1)] });

it('is done without a job, and answered on its own topic', async () => {
  const { gpus, service, session, send } = await aHostWith(1);
  const updates = service.updates.length;
  send(message('release-1', cleaning));
  await eventually(() => answersOf(session)).toEqual([
    {
      topic: workEndTopic('test', thing),
      payload: {
        job_id: 'release-1',
        status: 'SUCCEEDED',
        details: { evidence: JSON.stringify({ [uuid(1)]: { removed: uuid(1) } }) },
      },
    },
  ]);
  expect(gpus.mdevs).toEqual([]);
  expect(service.updates).toHaveLength(updates);
});

it('is not done again by the job that follows, which gets the same outcome', async () => {
  const { gpus, service, session, send } = await aHostWith(1);
  send(message('release-1', cleaning));
  await eventually(() => answersOf(session)).toHaveLength(1);
  const calls = gpus.calls.length;
  await service.create(cleaning, 'release-1');
  await eventually(() => service.job('release-1').status).toBe('SUCCEEDED');
  expect(service.job('release-1').statusDetails.evidence).toContain(uuid(1));
  expect(gpus.calls).toHaveLength(calls);
});

describe('the job that follows may have fewer steps, and does those that the message did not', () => {
  it('after a message that ended', async () => {
    const { gpus, service, session, send } = await aHostWith(1);
    await service.create(document('prepare', { bind_id: uuid(98), steps: [create(2)] }));
    await eventually(() => gpus.mdevs).toHaveLength(2);
    send(message('release-1', cleaning));
    await eventually(() => answersOf(session)).toHaveLength(1);
    await service.create(
      document('release', { bind_id: uuid(99), steps: [remove(2)] }),
      'release-1',
    );
    await eventually(() => service.job('release-1').status).toBe('SUCCEEDED');
    expect(gpus.mdevs).toEqual([]);
  });

  it('after a message that was interrupted', async () => {
    const { gpus, stop, runner, service, send } = await aHostWith(1);
    await service.create(document('prepare', { bind_id: uuid(98), steps: [create(2)] }));
    await eventually(() => gpus.mdevs).toHaveLength(2);
    gpus.hooks.beforeLook = async () => stop.abort();
    send(message('release-1', document('release', { steps: [remove(1), remove(2)] })));
    await eventually(() => gpus.mdevs).toHaveLength(1);
    await runner.idle();
    const next = await aJobHost(directory, { gpus });
    next.connect();
    await next.service.create(document('release', { steps: [remove(2)] }), 'release-1');
    await eventually(() => next.service.job('release-1').status).toBe('SUCCEEDED');
    expect(gpus.mdevs).toEqual([]);
  });
});

it('runs on while AWS IoT lists other jobs, and the job with its id waits', async () => {
  const { gpus, service, session, send } = await aHostWith(1);
  const gate = aGate();
  gpus.hooks.beforeCreate = () => gate.opened;
  const work = document('prepare', { bind_id: uuid(98), steps: [create(2)] });
  send(message('bind-2', work));
  await eventually(() => gpus.calls).toContain(`create ${uuid(2)}`);
  // Both notify the agent: neither list names what it is working on as a message.
  const other = await service.create(document('release', { steps: [remove(3)] }), 'other');
  await service.create(work, 'bind-2');
  expect(service.job('bind-2').status).toBe('QUEUED');
  gate.open();
  await eventually(() => answersOf(session)).toHaveLength(1);
  await eventually(() => service.job(other).status).toBe('SUCCEEDED');
  expect(gpus.calls.filter((call) => call === `create ${uuid(2)}`)).toHaveLength(1);
});

it.each([
  ['too late', message('release-1', cleaning, inMinutes(-1))],
  ['without a document that is valid', message('release-1', { version: 1, action: 'clean' })],
  ['not JSON', 'no message'],
  ['without a time', { job_id: 'release-1', document: cleaning }],
  ['for another host', message('release-1', { ...cleaning, host: 'cmp2' })],
  ['for another boot', message('release-1', { ...cleaning, boot_id: uuid(7) })],
])('changes nothing when it is %s', async (_case, sent) => {
  const { gpus, session, send } = await aHostWith(1);
  send(sent);
  send(message('look', document('prepare', { bind_id: uuid(97), steps: [create(2)] })));
  await eventually(() => gpus.mdevs.map((mdev) => mdev.uuid)).toEqual([uuid(1), uuid(2)]);
  await eventually(() => answersOf(session).map(({ payload }) => payload.status)).toContain(
    'SUCCEEDED',
  );
  const refused = answersOf(session).filter(({ payload }) => payload.job_id === 'release-1');
  expect(refused.every(({ payload }) => payload.status === 'REJECTED')).toBe(true);
});

describe('on a host whose clock is wrong', () => {
  it.each([120_000, -120_000])('is done while it is valid: %d ms ahead', async (aheadMs) => {
    const { session, send } = await aHostWith(1, aheadMs);
    send(message('release-1', cleaning, inMinutes(1)));
    await eventually(() => answersOf(session)).toHaveLength(1);
  });

  it.each([120_000, -120_000])('is dropped when it is too late: %d ms ahead', async (aheadMs) => {
    const { gpus, session, send } = await aHostWith(1, aheadMs);
    send(message('release-1', cleaning, inMinutes(-1)));
    const work = document('prepare', { bind_id: uuid(97), steps: [create(2)] });
    send(message('look', work, inMinutes(1)));
    await eventually(() => answersOf(session)).toHaveLength(1);
    expect(gpus.mdevs.map((mdev) => mdev.uuid)).toEqual([uuid(1), uuid(2)]);
  });

  it('waits for the time of the control plane, for the broker keeps old messages', async () => {
    const clock = { ...systemClock, wallMs: () => Date.now() + 120_000 };
    const { service, connect } = await aJobHost(directory, { clock });
    service.seconds = Math.floor(Date.now() / 1000);
    const { session } = connect();
    const late = document('prepare', { bind_id: uuid(96), steps: [create(3)] });
    session.receive(workTopic('test', thing), message('late', late, inMinutes(-1)));
    const work = document('prepare', { bind_id: uuid(97), steps: [create(2)] });
    session.receive(workTopic('test', thing), message('fresh', work, inMinutes(1)));
    expect(answersOf(session)).toEqual([]);
    await eventually(() => answersOf(session).map(({ payload }) => payload.job_id)).toEqual([
      'fresh',
    ]);
  });
});

it('that the agent could not answer is answered by the job, with its outcome', async () => {
  const { gpus, service, session, send, connect } = await aHostWith(1);
  const gate = aGate();
  gpus.hooks.beforeLook = () => gate.opened;
  send(message('release-1', cleaning));
  session.lose();
  gate.open();
  await eventually(() => gpus.mdevs).toEqual([]);
  await service.create(cleaning, 'release-1');
  connect();
  await eventually(() => service.job('release-1').status).toBe('SUCCEEDED');
  expect(gpus.calls.filter((call) => call.startsWith('remove'))).toHaveLength(1);
});

it('is the answer about cards, whatever the clocks say, and no job', async () => {
  const cards: CardsMessage[] = [];
  const host = await aJobHost(directory, { onCards: (message) => cards.push(message) });
  const { session } = host.connect();
  const answer = {
    boot_id: uuid(1),
    cards: { '0000:41:00.0': { identity: '10de:26b9 030200 10de:1851', since: inMinutes(0) } },
  };
  for (const each of [answer, { ...answer, cards: { x: {} } }])
    session.receive(workTopic('test', thing), each);
  await eventually(() => cards).toEqual([answer]);
});
