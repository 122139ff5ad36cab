// Plays the runs of its task, or takes away the guards of its task.

import { parentPort, workerData } from 'node:worker_threads';
import { type GuardResult, liveAll, seek, type Task, tryWithout } from './guards-and-lives.ts';

async function work(task: Exclude<Task, { kind: 'seek' }>): Promise<unknown> {
  if (task.kind === 'live') return liveAll(task.lives);
  const results: GuardResult[] = [];
  for (const { guard, lives } of task.guards) results.push(await tryWithout(guard, lives));
  return results;
}

const task = workerData as Task;
if (task.kind === 'seek') {
  await seek(task.guards, task.lives, (message) => parentPort?.postMessage(message));
} else {
  parentPort?.postMessage(await work(task));
}
