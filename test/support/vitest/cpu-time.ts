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

/** CPU time of this process; on Linux also of its children that have ended. */
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

// This hook is registered first and so runs last. Its first parameter has to be a pattern: vitest
// reads from it which fixtures a hook asks for, and throws if it is a plain name.
// biome-ignore lint/correctness/noEmptyPattern: the hook asks for no fixture
afterAll(({}, suite) => {
  suite.file.meta.cpuSeconds = cpuSeconds() - before;
});
