import { defineConfig } from 'vitest/config';
import { countReporter } from '#test/support/vitest/count-reporter.ts';
import { cpuReporter } from '#test/support/vitest/cpu-reporter.ts';
import { LongestFirst } from '#test/support/vitest/longest-first.ts';

/** Files that neither change what a module keeps nor replace a module. */
const pure = ['test/{unit,console,house}/**/*.test.ts', 'test/infra/!(access).test.ts'];

export default defineConfig({
  test: {
    // Where a command runs a sample of a long table, a title says so.
    tags: [
      { name: 'long', description: 'takes too long for npm test' },
      { name: 'whole', description: 'takes too long for npm run test:all, and for CI' },
    ],
    globalSetup: ['test/support/vitest/temporary-files.ts'],
    setupFiles: ['test/support/vitest/cpu-time.ts'],
    reporters: ['default', cpuReporter, countReporter],
    maxWorkers: 2,
    // To start a process and to load packages takes longer than most files do.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // Only against what would never end: a test's own waits end with what they wait for, and some
    // tests take a hundred steps, each of them seconds on a slow machine.
    testTimeout: 1_200_000,
    hookTimeout: 1_200_000,
    projects: [
      // Each file starts its own engines on its own ports, so files run beside each other in any
      // order.
      {
        extends: true,
        test: {
          name: 'fresh',
          include: ['test/**/*.test.ts'],
          exclude: pure,
          setupFiles: ['test/support/vitest/fresh-modules.ts'],
        },
      },
      { extends: true, test: { name: 'pure', include: pure } },
    ],
  },
});
