import { afterEach, expect, it } from 'vitest';
import { type Launched, type Supervised, supervise } from '#local/process/supervisor.ts';
import { eventually } from '#test/support/vitest/eventually.ts';

/** A fake process, which is ready or ends when the test says so. */
interface Started extends Launched {
  becomeReady(): void;
  die(): void;
}

let supervised: Supervised;
let started: Started[] = [];
let running = 0;

afterEach(async () => {
  await supervised.kill();
  started = [];
  running = 0;
});

function launch(): Launched {
  const ready = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  let isAlive = true;
  running += 1;
  const die = () => {
    if (isAlive) running -= 1;
    isAlive = false;
    // Like a real process that ends before it is ready.
    ready.reject(new Error('It ended at start.'));
    ended.resolve();
  };
  ready.promise.catch(() => {});
  const process: Started = {
    ready: ready.promise,
    ended: ended.promise,
    end: async () => die(),
    becomeReady: () => ready.resolve(),
    die,
  };
  started.push(process);
  return process;
}

async function aRunningOne(mayRestart = () => true): Promise<string[]> {
  const restarts: string[] = [];
  supervised = supervise(launch, { mayRestart, onRestart: () => restarts.push('again') });
  const ready = supervised.start();
  started[0]?.becomeReady();
  await ready;
  return restarts;
}

it('starts one process for each that died, even if it dies before it is ready', async () => {
  await aRunningOne();
  started[0]?.die();
  await eventually(() => started.length).toBe(2);
  started[1]?.die();
  await eventually(() => started.length).toBe(3);
  started[2]?.die();
  await eventually(() => started.length).toBe(4);
  started[3]?.becomeReady();
  // Long enough for a wrong second restart after the first deaths.
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect([started.length, running]).toEqual([4, 1]);
});

it('leaves a process that was never ready to its caller', async () => {
  const restarts: string[] = [];
  supervised = supervise(launch, {
    mayRestart: () => true,
    onRestart: () => restarts.push('again'),
  });
  const ready = supervised.start();
  started[0]?.die();
  await expect(ready).rejects.toThrow('It ended at start.');
  await new Promise((resolve) => setTimeout(resolve, 700));
  expect([started.length, restarts]).toEqual([1, []]);
});

it('restarts nothing and prints nothing when this process ends right after', async () => {
  let isStopping = false;
  const restarts = await aRunningOne(() => !isStopping);
  started[0]?.die();
  isStopping = true;
  await new Promise((resolve) => setTimeout(resolve, 700));
  expect([started.length, restarts]).toEqual([1, []]);
});
