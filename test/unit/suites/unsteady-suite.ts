// A suite of two scenarios: the first fails unless its folder has a file, which it writes, or
// unless it can never pass.
//
// unsteady-suite.ts FOLDER [--never] [--again] [--only words]

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lockDirectory } from '#local/process/directory-lock.ts';
import { isWanted, ScenarioSuite } from '#test/support/suites/scenario-suite.ts';

const [, , folder = ''] = process.argv;
const file = join(folder, 'played');
const suite = new ScenarioSuite();

function outcomeOf(name: string) {
  const isSteady = name !== 'a server boots' || existsSync(file);
  const hasPassed = isSteady && !process.argv.includes('--never');
  writeFileSync(file, '');
  return { name, seconds: 0, hasPassed, note: hasPassed ? '' : 'Timed out.\nIn its log.' };
}

await suite.run(async () => {
  lockDirectory(join(folder, 'suite'));
  for (const name of ['a server boots', 'a server ends']) {
    if (isWanted(name)) suite.report(outcomeOf(name));
  }
});
