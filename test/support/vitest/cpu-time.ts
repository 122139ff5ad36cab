// Measures the CPU time of each test file, with that of the processes that it started and ended.
// The reporter compares it with the budget.

import { readFileSync } from 'node:fs';
import { afterAll } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    /** Set when the file ends. */
    cpuSeconds?: number;
  }
}

const ticksPerSecond = 100;

/** Of this process and, on Linux, of those of its children that have ended. */
function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + childSeconds();
}

function childSeconds(): number {
  if (process.platform !== 'linux') return 0;
  // The program's name, the second field, may hold spaces and parentheses.
  const fields = readFileSync('/proc/self/stat', 'latin1').split(') ').at(-1)?.split(' ') ?? [];
  const [user, system] = fields.slice(13, 15).map(Number);
  return ((user ?? 0) + (system ?? 0)) / ticksPerSecond;
}

const before = cpuSeconds();

// The first of the hooks runs last.
// biome-ignore lint/correctness/noEmptyPattern: vitest refuses a parameter that is not a pattern
afterAll(({}, suite) => {
  suite.file.meta.cpuSeconds = cpuSeconds() - before;
});
