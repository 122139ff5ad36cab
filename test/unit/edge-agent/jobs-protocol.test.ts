import { describe, expect, it } from 'vitest';
import { type JobsChannel, openJobs } from '#agent/broker/jobs-protocol.ts';
import { aClock, silentLog } from '#test/support/hosts/agent.ts';
import { aSession, jobsRoot, thing } from '#test/support/hosts/agent-session.ts';

type Answer = { accepted: object } | { rejected: object } | 'silence';
const seconds = 1000;

/** A channel to a service that gives these answers, one after another. */
async function aChannel(...answers: Answer[]) {
  const clock = aClock();
  const notified: unknown[] = [];
  const session = aSession(async (topic, payload) => {
    const { clientToken } = JSON.parse(payload);
    const answer = answers.shift() ?? 'silence';
    if (answer === 'silence') return;
    const [[suffix = '', body] = []] = Object.entries(answer);
    // The answer comes before the acknowledgement.
    session.receive(`${topic}/${suffix}`, { ...body, clientToken });
  });
  const deps = { thing, clock, random: () => 0, log: silentLog };
  const channel = await openJobs(session, deps, (pending) => notified.push(pending));
  return { channel, session, clock, notified };
}

const update = { status: 'SUCCEEDED', statusDetails: {}, expectedVersion: 3 } as const;
const execution = {
  jobId: 'job-1',
  status: 'IN_PROGRESS',
  queuedAt: 1_790_000_000,
  versionNumber: 3,
  executionNumber: 1,
  jobDocument: { version: 1 },
};
const state = { executionState: { status: 'IN_PROGRESS', versionNumber: 7 } };

describe('the agent at AWS IoT Jobs', () => {
  it('subscribes to its own topics, at most eight at a time', async () => {
    const { session } = await aChannel();
    expect(session.filters.length).toBeLessThanOrEqual(8);
    expect(session.filters.every((filter) => filter.startsWith(`${jobsRoot}/`))).toBe(true);
  });

  it('repeats a subscription that the broker does not grant at once', async () => {
    const session = aSession();
    const clock = aClock();
    let attempts = 0;
    const subscribe = async (filters: readonly string[]) => {
      attempts += 1;
      if (attempts < 3) throw new Error('the operation was aborted due to timeout');
      await session.subscribe(filters);
    };
    const deps = { thing, clock, random: () => 0, log: silentLog };
    const opened = openJobs({ ...session, subscribe }, deps, () => {});
    opened.catch(() => {});
    await clock.advance(30 * seconds);
    await opened;
    expect([attempts, session.filters]).toEqual([
      3,
      expect.arrayContaining([`${jobsRoot}/notify`]),
    ]);
  });

  it('gets the pending jobs, those in progress first', async () => {
    const { channel } = await aChannel({
      accepted: { inProgressJobs: [{ jobId: 'a' }], queuedJobs: [{ jobId: 'b', queuedAt: 1 }] },
    });
    expect(await channel.pending()).toEqual([{ jobId: 'a' }, { jobId: 'b' }]);
  });

  it('is notified of pending jobs, and ignores unreadable notifications', async () => {
    const { session, notified } = await aChannel();
    session.receive(`${jobsRoot}/notify`, {
      timestamp: 1,
      jobs: { QUEUED: [{ jobId: 'b' }], IN_PROGRESS: [{ jobId: 'a' }] },
    });
    session.receive(`${jobsRoot}/notify`, { timestamp: 1, jobs: {} });
    session.receive(`${jobsRoot}/notify`, '{"jobs":');
    session.receive('$aws/things/cmp2/jobs/notify', { jobs: { QUEUED: [{ jobId: 'x' }] } });
    expect(notified).toEqual([[{ jobId: 'a' }, { jobId: 'b' }], [], []]);
  });

  it.each([
    ['an object', execution],
    ['text', { ...execution, jobDocument: '{"version":1}' }],
    ['with times in milliseconds', { ...execution, queuedAt: 1_790_000_000_123 }],
  ])('reads a job whose document is %s', async (_name, given) => {
    const { channel, session } = await aChannel({ accepted: { execution: given } });
    expect(await channel.describe('job-1')).toEqual(execution);
    expect(session.published[0]).toMatchObject({
      topic: `${jobsRoot}/job-1/get`,
      payload: { includeJobDocument: true },
    });
  });

  it.each(['ResourceNotFound', 'TerminalStateReached'])(
    'finds no job after an answer of %s, and requests no invalid name',
    async (code) => {
      const { channel, session } = await aChannel({ rejected: { code } });
      expect(await channel.describe('job-1')).toBeUndefined();
      expect(await channel.describe('../x')).toBeUndefined();
      expect(session.published).toHaveLength(1);
    },
  );

  it('ignores the answer to another request', async () => {
    const { channel, session, clock } = await aChannel();
    const described = channel.describe('job-1');
    await clock.advance(0);
    const topic = `${jobsRoot}/job-1/get/accepted`;
    session.receive(topic, { execution: { ...execution, versionNumber: 1 } });
    session.receive(topic, { clientToken: 'other', execution });
    const clientToken = session.published[0]?.payload.clientToken;
    session.receive(topic, { clientToken, execution });
    expect(await described).toEqual(execution);
  });

  it.each([
    ['taken', { accepted: state }, { kind: 'taken', version: 7 }],
    ['taken, of an unknown version', { accepted: {} }, { kind: 'taken', version: 4 }],
    ['over', { rejected: { code: 'InvalidStateTransition', ...state } }, { kind: 'over' }],
    ['over', { rejected: { code: 'TerminalStateReached' } }, { kind: 'over' }],
    ['over', { rejected: { code: 'ResourceNotFound' } }, { kind: 'over' }],
    [
      'changed',
      { rejected: { code: 'VersionMismatch', ...state } },
      { kind: 'changed', version: 7 },
    ],
    [
      'over',
      {
        rejected: {
          code: 'VersionMismatch',
          executionState: { status: 'CANCELED', versionNumber: 4 },
        },
      },
      { kind: 'over' },
    ],
  ] as const)('knows that a job is %s: %j', async (_name, answer, outcome) => {
    const { channel } = await aChannel(answer);
    expect(await channel.update('job-1', update)).toEqual(outcome);
  });

  it('reads the job again when its version differs and the answer does not have it', async () => {
    const { channel } = await aChannel(
      { rejected: { code: 'VersionMismatch' } },
      { accepted: { execution: { ...execution, versionNumber: 9 } } },
    );
    expect(await channel.update('job-1', update)).toEqual({ kind: 'changed', version: 9 });
  });

  it.each([
    ['it is throttled', { rejected: { code: 'RequestThrottled', message: 'slow down' } }],
    ['the service fails', { rejected: { code: 'InternalError' } }],
    ['the answer is empty', { rejected: {} }],
    ['no answer comes', 'silence'],
  ] as const)('asks again, later, when %s', async (_name, answer) => {
    const { channel, session, clock } = await aChannel(answer, answer, { accepted: state });
    const updated = channel.update('job-1', update);
    await clock.advance(30 * seconds);
    expect(await updated).toEqual({ kind: 'taken', version: 7 });
    expect(session.published).toHaveLength(3);
  });

  it('gives up when the request is invalid', async () => {
    const { channel } = await aChannel({ rejected: { code: 'InvalidRequest', message: 'status' } });
    await expect(channel.update('job-1', update)).rejects.toThrow('InvalidRequest status');
  });

  it.each([
    ['pending', (channel: JobsChannel) => channel.pending()],
    ['describe', (channel: JobsChannel) => channel.describe('job-1')],
    ['update', (channel: JobsChannel) => channel.update('job-1', update)],
  ])('stops waiting when the connection is lost: %s', async (_name, ask) => {
    const { channel, session, clock } = await aChannel();
    const asked = ask(channel);
    asked.catch(() => {});
    await clock.advance(0);
    session.lose();
    await expect(asked).rejects.toThrow('the connection was closed');
  });
});
