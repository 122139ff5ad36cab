import { defineConfig } from 'vitest/config';
import { countReporter } from './test/support/count-reporter.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    reporters: ['default', countReporter],
    // Each file starts its own engine on its own port, so files run beside each other in any order.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
