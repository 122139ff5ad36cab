// npm run test:simulation [-- --seeds=10000 --from=1] [-- --seed=4711] [-- --guards]

import { parseArgs } from 'node:util';
import { runSeed } from './run.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string', default: '100' },
    from: { type: 'string', default: '1' },
    /** Prints every effect of the run. */
    trace: { type: 'boolean', default: false },
  },
});

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function mapsAsObjects(_key: string, value: unknown): unknown {
  return value instanceof Map ? Object.fromEntries(value) : value;
}

async function main(): Promise<void> {
  const from = Number(values.seed ?? values.from);
  const count = values.seed ? 1 : Number(values.seeds);
  const startedAt = Date.now();
  let steps = 0;
  let failures = 0;
  for (let seed = from; seed < from + count; seed += 1) {
    const outcome = await runSeed(seed, { trace: values.trace ? say : undefined });
    steps += outcome.steps;
    if (values.seed) say(JSON.stringify(outcome, mapsAsObjects, 2));
    if (!outcome.violation) continue;
    failures += 1;
    say(`seed ${seed}: ${outcome.violation.message}`);
  }
  const seconds = (Date.now() - startedAt) / 1000;
  say(`${count} seeds, ${steps} steps, ${seconds.toFixed(1)} s, ${failures} failures`);
}

await main();
