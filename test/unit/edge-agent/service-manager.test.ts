import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ChildOptions, StartChild } from '#agent/hardware/watched-child.ts';
import { announceReady } from '#agent/process/service-manager.ts';
import { aLog } from '#test/support/hosts/agent.ts';

const socket = '/run/systemd/notify';
beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function announce(environment: Record<string, string>, exitCode = 0) {
  const children: ChildOptions[] = [];
  const start: StartChild = (given) => {
    children.push(given);
    const stdout = Buffer.alloc(0);
    return {
      result: Promise.resolve({ end: 'exited', exitCode, stdout, stderr: 'refused' }),
      gone: Promise.resolve(),
    };
  };
  const log = aLog();
  announceReady({ environment, pid: 77, log, start });
  return { log, messages: () => children.map(({ args }) => args.join(' ')), children };
}

describe('systemd', () => {
  it('is told once that the agent is ready, by its own program', () => {
    const { children, messages } = announce({ NOTIFY_SOCKET: socket });
    vi.advanceTimersByTime(600_000);
    expect(messages()).toEqual(['--ready']);
    expect(children[0]).toMatchObject({
      program: '/usr/bin/systemd-notify',
      environment: { NOTIFY_SOCKET: socket },
    });
  });

  it('is told twice in each interval of its watchdog that the agent is alive', () => {
    const given = { NOTIFY_SOCKET: socket, WATCHDOG_USEC: '60000000', WATCHDOG_PID: '77' };
    const { messages } = announce(given);
    vi.advanceTimersByTime(60_000);
    expect(messages()).toEqual(['--ready', 'WATCHDOG=1', 'WATCHDOG=1']);
  });

  it.each([
    { NOTIFY_SOCKET: socket, WATCHDOG_USEC: '60000000', WATCHDOG_PID: '78' },
    { NOTIFY_SOCKET: socket, WATCHDOG_USEC: 'x' },
  ])('is not told so where its watchdog watches no agent: %j', (environment) => {
    const { messages } = announce(environment);
    vi.advanceTimersByTime(600_000);
    expect(messages()).toEqual(['--ready']);
  });

  it('is told nothing if it did not start the agent', () => {
    expect(announce({ WATCHDOG_USEC: '60000000' }).messages()).toEqual([]);
  });

  it('that refuses a message is named in the log', async () => {
    const { log } = announce({ NOTIFY_SOCKET: socket }, 1);
    await vi.advanceTimersByTimeAsync(0);
    expect(log.lines).toEqual([
      { message: 'systemd not notified', sent: '--ready', reason: 'refused' },
    ]);
  });
});
