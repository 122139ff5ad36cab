import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const program = join(import.meta.dirname, 'hold-lock.ts');
let directory: string;
let running: ChildProcess[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'state-lock-'));
});
afterEach(() => {
  for (const each of running) each.kill('SIGKILL');
  running = [];
  rmSync(directory, { recursive: true });
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
