// Begins with the files that take minutes: one that begins last keeps one worker busy while the
// other has nothing to do.

import { BaseSequencer, type TestSpecification } from 'vitest/node';

const longest = [
  'simulation/every-step',
  'integration/kill-at-each-step',
  'simulation/guards',
  'local/region-outage',
  'drivers/drivers',
  'local/upgrade',
  'simulation/simulation',
  'integration/forget-host',
  'infra/library',
  'operate/deploy-guide',
  'local/another-region',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rankOf = ({ moduleId }: TestSpecification) => {
      const rank = longest.findIndex((each) => moduleId.endsWith(`test/${each}.test.ts`));
      return rank < 0 ? longest.length : rank;
    };
    return sorted.sort((a, b) => rankOf(a) - rankOf(b));
  }
}
