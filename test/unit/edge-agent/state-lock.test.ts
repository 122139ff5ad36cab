import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { directoryPerTest } from '#test/support/vitest/shared.ts';

const program = join(import.meta.dirname, 'hold-lock.ts');
const directory = directoryPerTest();
let running: ChildProcess[] = [];

afterEach(() => {
  for (const each of running) each.kill('SIGKILL');
  running = [];
});

async function start(): Promise<unknown> {
  const child = fork(program, [directory]);
  running.push(child);
  const [message] = await once(child, 'message');
  return message;
}

describe('the lock of a state directory', () => {
  it('is held by one of four processes that start at once', async () => {
    const all = await Promise.all([start(), start(), start(), start()]);
    expect(all.sort()).toEqual(['held', 'in use', 'in use', 'in use']);
  });

  it('is free after its holder was killed', async () => {
    expect(await start()).toBe('held');
    expect(await start()).toBe('in use');
    const [holder] = running;
    holder?.kill('SIGKILL');
    if (holder) await once(holder, 'exit');
    expect(await start()).toBe('held');
  });
});
