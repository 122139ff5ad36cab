import { defineConfig } from 'vitest/config';
import { countReporter } from './test/support/count-reporter.ts';
import { LongestFirst } from './test/support/longest-first.ts';
import { patience } from './test/support/patience.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/temporary-files.ts'],
    reporters: ['default', countReporter],
    // Each file starts its own engine on its own port, so files run beside each other in any
    // order.
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    // Only against what would never end: a test's own waits end with what they wait for, and some
    // tests take a hundred steps, each of them seconds on a slow machine.
    testTimeout: 1_200_000,
    hookTimeout: 1_200_000,
    expect: { poll: patience },
  },
});
