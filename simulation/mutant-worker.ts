// A worker that plays the scenarios of its task, or tries the mutants of its task.

import { parentPort, workerData } from 'node:worker_threads';
import { type GuardResult, playAll, seek, type Task, tryWithout } from './mutants.ts';

async function work(task: Exclude<Task, { kind: 'seek' }>): Promise<unknown> {
  if (task.kind === 'play') return playAll(task.scenarios);
  const results: GuardResult[] = [];
  for (const { guard, scenarios } of task.guards) results.push(await tryWithout(guard, scenarios));
  return results;
}

const task = workerData as Task;
if (task.kind === 'seek') {
  await seek(task.guards, task.scenarios, (message) => parentPort?.postMessage(message));
} else {
  parentPort?.postMessage(await work(task));
}
