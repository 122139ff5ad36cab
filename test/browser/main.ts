// `npm run test:browser`: the console in a real Chromium, in front of the local system.
//
// --only <words>   plays the scenarios with one of the words, separated by |, in their names
// --large          measures the console with 10,000 hosts and 100,000 devices instead

import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { lockDirectory } from '#local/process/directory-lock.ts';
import { furnish, startCloud } from './cloud.ts';
import { measureLarge } from './large.ts';
import { CannotRun, ensureChromium } from './packages.ts';
import { type Group, play } from './scenario.ts';
import { actions, refusals } from './scenarios/actions.ts';
import { looks } from './scenarios/looks.ts';
import { fleet, planning } from './scenarios/planning.ts';
import { screens } from './scenarios/screens.ts';
import { signIn } from './scenarios/sign-in.ts';
import { Stage } from './stage.ts';

const directory = join(import.meta.dirname, '../../.local/browser');
// The actions last: they end what the others look at.
const all: readonly Group[] = [signIn, fleet, screens, planning, looks, refusals, actions];

const startedAt = performance.now();
const counts = { passed: 0, failed: 0 };
const closing: (() => Promise<unknown>)[] = [];

async function main(): Promise<void> {
  let program: string;
  try {
    program = ensureChromium();
  } catch (error) {
    if (!(error instanceof CannotRun)) throw error;
    console.log(`SKIPPED: the suite test:browser cannot run on this machine: ${error.message}.`);
    return;
  }
  const groups = chosen();
  if (groups.length === 0) throw new Error('No scenario has one of these words in its name.');
  lockDirectory(directory);
  const browser = await openBrowser(program);
  step(`Chromium ${browser.version()} has started`);
  if (process.argv.includes('--large')) {
    const isWithin = await measureLarge(browser, join(directory, 'measured'));
    counts[isWithin ? 'passed' : 'failed'] += 1;
    return;
  }
  const cloud = await startCloud(join(directory, 'cloud'));
  closing.push(cloud.stop);
  await furnish(cloud);
  step('the local system has its hosts, servers and incidents');
  const stage = new Stage(cloud, browser);
  for (const group of groups) await playGroup(group, stage);
}

async function openBrowser(executablePath: string): Promise<Browser> {
  const browser = await chromium.launch({ executablePath });
  closing.push(() => browser.close());
  return browser;
}

async function playGroup({ name, scenarios }: Group, stage: Stage): Promise<void> {
  for (const scenario of scenarios) {
    const from = performance.now();
    const fault = await play(scenario, stage);
    const mark = fault === undefined ? 'ok    ' : 'FAILED';
    const seconds = `${((performance.now() - from) / 1000).toFixed(1)} s`;
    console.log(`${mark} ${seconds.padStart(7)}  ${name}: ${scenario.name}`);
    if (fault !== undefined) console.log(fault.replaceAll(/^/gm, ' '.repeat(16)));
    counts[fault === undefined ? 'passed' : 'failed'] += 1;
  }
}

function chosen(): readonly Group[] {
  const at = process.argv.indexOf('--only');
  const words = (at < 0 ? '' : (process.argv[at + 1] ?? '')).split('|');
  const isWanted = (name: string) => words.some((word) => name.includes(word));
  return all.flatMap((group) => {
    const scenarios = group.scenarios.filter(({ name }) => isWanted(`${group.name}: ${name}`));
    return scenarios.length > 0 ? [{ ...group, scenarios }] : [];
  });
}

function step(sentence: string): void {
  const seconds = `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
  console.log(`${seconds.padStart(14)}  ${sentence}`);
}

async function end(): Promise<void> {
  for (const close of closing.splice(0).reverse()) await close();
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => void end().finally(() => process.exit(1)));
}

try {
  await main();
} catch (error) {
  counts.failed++;
  console.error(error);
} finally {
  await end();
}
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exit(counts.failed > 0 ? 1 : 0);
