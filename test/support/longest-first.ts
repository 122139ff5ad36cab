// Begins with the files that take minutes: one that begins last keeps one worker busy while the
// other has nothing to do.

import { BaseSequencer, type TestSpecification } from 'vitest/node';

const longest = [
  'test/simulation/every-step.test.ts',
  'test/integration/kill-at-each-step.test.ts',
  'test/drivers/drivers.test.ts',
  'test/local/region-outage.test.ts',
  'test/local/another-region.test.ts',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rankOf = ({ moduleId }: TestSpecification) => {
      const rank = longest.findIndex((each) => moduleId.endsWith(each));
      return rank < 0 ? longest.length : rank;
    };
    return sorted.sort((a, b) => rankOf(a) - rankOf(b));
  }
}
