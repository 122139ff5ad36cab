import { afterEach, describe, expect, it } from 'vitest';
import {
  changed,
  deadlineOf,
  type Execution,
  executionStatuses,
  isTerminal,
  mayTransition,
} from '#local/aws/iot-jobs/store/lifecycle.ts';
import { eventually } from '#test/support/vitest/eventually.ts';
import { type JobsSystem, startJobsSystem } from './jobs-system.ts';

const minute = 60_000;

function anExecution(more: Partial<Execution> = {}): Execution {
  return {
    jobId: 'job1',
    thing: 'node-1',
    thingArn: 'arn:aws:iot:us-east-1:000000000000:thing/node-1',
    executionNumber: 1,
    versionNumber: 1,
    status: 'QUEUED',
    statusDetails: undefined,
    isForceCanceled: false,
    queuedAtMs: 0,
    startedAtMs: undefined,
    lastUpdatedAtMs: 0,
    timeoutMinutes: undefined,
    stepDeadlineMs: undefined,
    ...more,
  };
}

describe('an execution', () => {
  const terminal = ['SUCCEEDED', 'FAILED', 'REJECTED', 'TIMED_OUT', 'REMOVED', 'CANCELED'];

  it.each(executionStatuses.flatMap((from) => executionStatuses.map((to) => [from, to] as const)))(
    'changes from %s to %s only as documented',
    (from, to) => {
      const mayLeave = from === 'QUEUED' || from === 'IN_PROGRESS';
      const isTimeout = from === 'QUEUED' && to === 'TIMED_OUT';
      const may = mayLeave && to !== 'QUEUED' && !isTimeout;
      expect(mayTransition(from, to)).toBe(may);
      expect(isTerminal(from)).toBe(terminal.includes(from));

      const change = () => changed(anExecution({ status: from }), { status: to }, 1);
      if (may) expect(change()).toMatchObject({ status: to, versionNumber: 2, lastUpdatedAtMs: 1 });
      else expect(change).toThrow(expect.objectContaining({ code: 'InvalidStateTransition' }));
    },
  );

  it('keeps its start time, and details without a change', () => {
    const started = changed(
      anExecution(),
      { status: 'IN_PROGRESS', statusDetails: { step: '1/2' } },
      5,
    );
    expect(changed(started, { status: 'SUCCEEDED' }, 9)).toMatchObject({
      startedAtMs: 5,
      lastUpdatedAtMs: 9,
      statusDetails: { step: '1/2' },
    });
  });

  it('has no deadline while it is queued, and then the earlier of two', () => {
    const queued = anExecution({ timeoutMinutes: 10 });
    expect(deadlineOf(queued)).toBeUndefined();
    const started = changed(queued, { status: 'IN_PROGRESS' }, 0);
    expect(deadlineOf(started)).toBe(10 * minute);

    const step = (from: Execution, stepTimeoutMinutes?: number) =>
      changed(from, { status: 'IN_PROGRESS', stepTimeoutMinutes }, minute);
    const stepped = step(started, 2);
    expect(deadlineOf(stepped)).toBe(3 * minute);
    expect(deadlineOf(step(stepped))).toBe(3 * minute);
    expect(deadlineOf(step(stepped, 20))).toBe(10 * minute);
    expect(deadlineOf(step(stepped, -1))).toBe(10 * minute);
    expect(deadlineOf(changed(started, { status: 'SUCCEEDED' }, 0))).toBeUndefined();
  });
});

describe('an execution after its deadline', () => {
  let system: JobsSystem;
  afterEach(() => system.stop());

  it('times out, and the device and the rules are notified', async () => {
    system = await startJobsSystem();
    const device = await system.connect('node-1');
    await system.create('job1', { timeoutConfig: { inProgressTimeoutInMinutes: 10 } });
    await system.create('job2', { timeoutConfig: { inProgressTimeoutInMinutes: 10 } });
    await device.ask('start-next');
    system.clock.nowMs += 10 * minute - 1;
    expect(await system.execution('job1')).toMatchObject({ status: 'IN_PROGRESS' });
    system.clock.nowMs += 1;
    await eventually(() => system.events()).toMatchObject([
      { topic: '$aws/events/jobExecution/job1/timed_out', event: { status: 'TIMED_OUT' } },
    ]);
    await eventually(() => device.on('notify-next').at(-1)).toMatchObject({
      execution: { jobId: 'job2' },
    });
    // A queued execution never times out.
    expect(await system.execution('job2')).toMatchObject({ status: 'QUEUED' });
    const late = await device.ask('job1/update', { status: 'SUCCEEDED' });
    expect(late.body).toMatchObject({ code: 'InvalidStateTransition' });
  });
});
