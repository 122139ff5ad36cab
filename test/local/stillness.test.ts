// The clock of the waits, beside more busy processes than the machine has processors.

import { type ChildProcess, spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { runSeconds } from '#local/demo/stillness.ts';

const started: ChildProcess[] = [];
afterEach(() => {
  for (const each of started.splice(0)) each.kill('SIGKILL');
});

/** Keeps a processor busy until it is killed. */
function busy(): void {
  started.push(spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
}

/** Asks the clock as a wait does. */
async function clockRunsSeconds(samples: number): Promise<number> {
  const before = runSeconds();
  const startedAt = performance.now();
  while (performance.now() - startedAt < samples * 1000) {
    await delay(20);
    runSeconds();
  }
  return runSeconds() - before;
}

it.runIf(process.platform === 'linux')(
  'runs slower while the processes of the test wait for a processor',
  { tags: ['long'] },
  async () => {
    await clockRunsSeconds(1);
    for (let count = 0; count < availableParallelism() * 3; count += 1) busy();
    await clockRunsSeconds(1);
    expect(await clockRunsSeconds(3)).toBeLessThan(1);
  },
);
