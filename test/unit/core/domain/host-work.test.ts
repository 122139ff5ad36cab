import { describe, expect, it } from 'vitest';
import { queues } from '#core/contracts/queues/queues.ts';
import { workDueMs } from '#core/domain/host-work/deadlines.ts';
import { hostWork, hostWorkKinds, kindOfAction } from '#core/domain/host-work/host-work.ts';

const settings = { bindDeadlineSeconds: 240 };

describe('the table of host work', () => {
  it('has one job action and one id prefix for each kind', () => {
    const rows = Object.values(hostWork);
    expect(new Set(rows.map(({ jobAction }) => jobAction)).size).toBe(rows.length);
    expect(new Set(rows.map(({ idPrefix }) => idPrefix)).size).toBe(rows.length);
    for (const kind of hostWorkKinds) expect(kindOfAction(hostWork[kind].jobAction)).toBe(kind);
  });

  it('gives a bind a due time that leaves one sweep before its deadline', () => {
    expect(workDueMs('bind', settings)).toBe(180_000);
    expect(workDueMs('bind', { bindDeadlineSeconds: 60 })).toBe(30_000);
  });

  it('gives a program no deadline before AWS IoT ends its job', () => {
    const { deadlineSeconds, inProgressMinutes } = hostWork.program;
    expect(workDueMs('program', settings)).toBe(deadlineSeconds * 1000);
    expect(inProgressMinutes * 60).toBeGreaterThanOrEqual(deadlineSeconds);
  });

  it('has no deadline before the consumer of its messages may end', () => {
    const { timeoutSeconds } = queues.find(({ name }) => name === 'host-jobs') ?? queues[0];
    for (const kind of ['bind', 'release', 'reprovision', 'program'] as const) {
      expect(workDueMs(kind, settings)).toBeGreaterThan(timeoutSeconds * 1000);
    }
  });
});
