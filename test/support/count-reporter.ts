// Ends a run with one line that any CI can read: `N passed, N failed`.

import type { Reporter, TestModule } from 'vitest/node';

export const countReporter: Reporter = {
  onTestRunEnd(modules, errors) {
    const results = modules.flatMap((module: TestModule) =>
      [...module.children.allTests()].map((test) => test.result().state),
    );
    const passed = results.filter((state) => state === 'passed').length;
    // A file that does not load, or an error outside of any test, is a failure, too.
    const broken = modules.filter((module) => module.errors().length > 0).length;
    const failed = results.filter((state) => state === 'failed').length + broken + errors.length;
    // After the summary of the reporter before.
    process.once('exit', () => console.log(`${passed} passed, ${failed} failed`));
  },
};
