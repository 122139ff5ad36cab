// Ends a run with one line that every CI can read: `N passed, N failed`.

import type { Reporter, TestModule } from 'vitest/node';

export const countReporter: Reporter = {
  onTestRunEnd(modules, errors) {
    const results = modules.flatMap((module: TestModule) =>
      [...module.children.allTests()].map((test) => test.result().state),
    );
    const passed = results.filter((state) => state === 'passed').length;
    // A file that does not load, or an error outside of tests, is a failure, too.
    const broken = modules.filter((module) => module.errors().length > 0).length;
    const failed = results.filter((state) => state === 'failed').length + broken + errors.length;
    // Print after the summary of the default reporter.
    process.once('exit', () => console.log(`${passed} passed, ${failed} failed`));
  },
};
