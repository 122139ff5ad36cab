// `npm run bench`: see options.ts for the options.

import { availableParallelism, loadavg } from 'node:os';
import { resolve } from 'node:path';
import { benchCapacity } from './capacity.ts';
import { benchChoices } from './choices.ts';
import { benchCold } from './cold.ts';
import { benchForeignServers } from './foreign-server.ts';
import { benchLarge } from './large.ts';
import { createSubject, type LatencyOptions, measure } from './latency.ts';
import { benchOperators } from './operators.ts';
import { type BenchOptions, readOptions, UsageError } from './options.ts';
import { growthMax, printLatency } from './print/print-latency.ts';
import { benchRoutes } from './routes.ts';
import { type OwnSystem, startOwnSystem } from './system/own-system.ts';

/** Several providers, as in a deployment; each with as many handles as Cyborg's fake driver. */
const handles = [16, 16, 16, 16];

async function bench(options: BenchOptions): Promise<boolean> {
  const { foreign, parts, latency, cold } = options;
  if (cold) return benchCold(cold);
  if (foreign) return benchForeignServers(foreign, latency);
  if (parts.includes('routes')) {
    await benchRoutes(latency.iterations);
    return true;
  }
  const isWithin = parts.includes('capacity') ? await benchCapacity() : true;
  const isDone = parts.includes('latency') ? await benchLatency(options, latency) : true;
  const isMeasured = parts.includes('large') ? await benchLarge(latency) : true;
  const isChosen = parts.includes('choices') ? await benchChoices(latency) : true;
  const isFlat = parts.includes('operators') ? await benchOperators() : true;
  return isWithin && isDone && isMeasured && isChosen && isFlat;
}

async function benchLatency(
  { arqCounts, profileDirectory }: BenchOptions,
  latency: LatencyOptions,
): Promise<boolean> {
  const systems: OwnSystem[] = [];
  try {
    for (const arqCount of arqCounts) {
      console.log(`Starting a system with ${arqCount.toLocaleString('en')} other ARQs.`);
      systems.push(
        await startOwnSystem({
          handles,
          arqCount,
          ...(profileDirectory !== undefined && {
            variables: async () => profiling(resolve(profileDirectory, `arqs-${arqCount}`)),
          }),
        }),
      );
    }
    const subjects = systems.map(({ target, places }, index) => {
      const count = (arqCounts[index] ?? 0).toLocaleString('en');
      return createSubject(`${count} other ARQs`, target, places);
    });
    const load = loadavg()[0]?.toFixed(1);
    console.log(`\nMeasuring Nova's calls: ${availableParallelism()} cores, load ${load}.`);
    const measured = await measure(subjects, latency);
    for (const { api } of subjects) api.close();
    const isWithin = printLatency(measured, growthMax);
    return isWithin && measured.every(({ failure }) => failure === undefined);
  } finally {
    for (const system of systems) await system.stop();
  }
}

function profiling(directory: string): Record<string, string> {
  return { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${directory}` };
}

process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));
try {
  process.exitCode = (await bench(readOptions(process.argv.slice(2)))) ? 0 : 1;
} catch (error) {
  console.error(error instanceof UsageError ? error.message : error);
  process.exitCode = 1;
}
