// `npm run test:browser`: the console in a real Chromium, in front of the local system.
//
// --only <words>   plays the scenarios with one of the words, separated by |, in their names
// --large          measures the console with 10,000 hosts and 100,000 devices instead

import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { lockDirectory } from '#local/process/directory-lock.ts';
import { skip } from '#test/support/suites/cannot-run.ts';
import { isWanted, ScenarioSuite } from '#test/support/suites/scenario-suite.ts';
import { furnish, startCloud } from './cloud.ts';
import { measureLarge } from './large.ts';
import { ensureChromium } from './packages.ts';
import { type Group, play } from './scenario.ts';
import { actions, refusals } from './scenarios/actions.ts';
import { looks } from './scenarios/looks.ts';
import { overview } from './scenarios/overview.ts';
import { fleet, planning } from './scenarios/planning.ts';
import { screens } from './scenarios/screens.ts';
import { search } from './scenarios/search.ts';
import { signIn } from './scenarios/sign-in.ts';
import { Stage } from './stage.ts';

const directory = join(import.meta.dirname, '../../.local/browser');
// The actions last: they end what the others look at.
const all: readonly Group[] = [
  signIn,
  overview,
  fleet,
  screens,
  planning,
  search,
  looks,
  refusals,
  actions,
];

const suite = new ScenarioSuite();

async function main(): Promise<void> {
  let program: string;
  try {
    program = ensureChromium();
  } catch (error) {
    skip('the suite test:browser', error);
    return;
  }
  const groups = chosen();
  if (groups.length === 0) throw new Error('No scenario has one of these words in its name.');
  lockDirectory(directory);
  const browser = await openBrowser(program);
  suite.step(`Chromium ${browser.version()} has started`);
  if (process.argv.includes('--large')) {
    const isWithin = await measureLarge(browser, join(directory, 'measured'));
    suite.count(isWithin);
    return;
  }
  const cloud = await startCloud(join(directory, 'cloud'));
  suite.closeAtEnd(cloud.stop);
  await furnish(cloud);
  suite.step('the local system has its hosts, servers and incidents');
  const stage = new Stage(cloud, browser);
  for (const group of groups) await playGroup(group, stage);
}

async function openBrowser(executablePath: string): Promise<Browser> {
  const browser = await chromium.launch({ executablePath });
  suite.closeAtEnd(() => browser.close());
  return browser;
}

async function playGroup({ name, scenarios }: Group, stage: Stage): Promise<void> {
  for (const scenario of scenarios) {
    const from = performance.now();
    const fault = await play(scenario, stage);
    const seconds = (performance.now() - from) / 1000;
    const hasPassed = fault === undefined;
    suite.report({ name: `${name}: ${scenario.name}`, seconds, hasPassed, note: fault ?? '' });
  }
}

function chosen(): readonly Group[] {
  return all.flatMap((group) => {
    const scenarios = group.scenarios.filter(({ name }) => isWanted(`${group.name}: ${name}`));
    return scenarios.length > 0 ? [{ ...group, scenarios }] : [];
  });
}

await suite.run(main);
