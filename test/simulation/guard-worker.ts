// Tries each of the guards it is given, and tells of each.

import { parentPort, workerData } from 'node:worker_threads';
import { tryWithout } from './guards-and-seeds.ts';

const { guards, seedsMax } = workerData as { guards: readonly string[]; seedsMax: number };
for (const guard of guards) parentPort?.postMessage(await tryWithout(guard, seedsMax));
