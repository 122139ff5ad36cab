// Lives what it is given, or takes away the guards that it is given.

import { parentPort, workerData } from 'node:worker_threads';
import { type GuardResult, liveAll, type Task, tryWithout } from './guards-and-lives.ts';

async function work(task: Task): Promise<unknown> {
  if (task.kind === 'live') return liveAll(task.lives);
  const results: GuardResult[] = [];
  for (const { guard, lives } of task.guards) results.push(await tryWithout(guard, lives));
  return results;
}

parentPort?.postMessage(await work(workerData as Task));
