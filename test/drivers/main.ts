// `npm run driver:check -- NAME`: holds one driver to the contract. An operator's driver, which
// has no fixture: --module FILE.mjs --settings FILE.json --tree DIR [--kernel FILE.mjs].

import { parseArgs } from 'node:util';
import { runCommand, WrongArguments } from '#core/command-line/arguments.ts';
import { type NamedFixture, operatorFixture, ownFixtures } from './fixtures.ts';
import { runCheck } from './kit/check.ts';
import { checksOf } from './kit/kit.ts';

const usage = `npm run driver:check -- NAME
npm run driver:check -- --module FILE.mjs --settings FILE.json --tree DIR [--kernel FILE.mjs]

NAME        a driver of the agent, with a fixture in test/drivers/
--module    the file of an operator's driver
--settings  JSON: what stands under the driver's name in the agent's settings
--tree      sysfs of a host that has its devices; it is copied for each check
--kernel    what the kernel does at writes below the tree; without it only discovery and plans are checked`;

const options = {
  module: { type: 'string' },
  settings: { type: 'string' },
  tree: { type: 'string' },
  kernel: { type: 'string' },
} as const;

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({ allowPositionals: true, options });
  const [name, ...others] = positionals;
  if (others.length > 0) throw new WrongArguments('Only one driver is checked at a time.');
  const { module, tree, settings, kernel } = values;
  const isOwn = name !== undefined;
  if (isOwn === (module !== undefined)) throw new WrongArguments('Give NAME or --module.');
  if (!isOwn && tree === undefined) throw new WrongArguments('--tree is missing.');
  const fixtures = isOwn
    ? await namedFixtures(name)
    : [await operatorFixture({ module: module ?? '', tree: tree ?? '', settings, kernel })];
  const hasKernel = isOwn || kernel !== undefined;
  const counts = { passed: 0, failed: 0 };
  for (const { title, fixture } of fixtures) {
    for (const check of await checksOf(fixture, hasKernel)) {
      const fault = await runCheck(fixture, check).catch((error: unknown) => error);
      counts[fault === undefined ? 'passed' : 'failed'] += 1;
      if (fault === undefined) console.log(`ok      ${title}: ${check.title}`);
      else console.log(`FAILED  ${title}: ${check.title}\n        ${textOf(fault)}`);
    }
  }
  if (!hasKernel) console.log('Set-up, prepare and clean are not checked: they need --kernel.');
  console.log(`${counts.passed} passed, ${counts.failed} failed`);
  // A driver that hangs must not keep the process.
  process.exit(counts.failed > 0 ? 1 : 0);
}

async function namedFixtures(name: string): Promise<NamedFixture[]> {
  const all = await ownFixtures();
  const found = all.filter(({ fixture }) => fixture.module.name === name);
  if (found.length > 0) return found;
  const known = [...new Set(all.map(({ fixture }) => fixture.module.name))].join(', ');
  throw new WrongArguments(`No driver ${name} has a fixture in test/drivers/: it has ${known}.`);
}

function textOf(fault: unknown): string {
  return (fault instanceof Error ? fault.message : String(fault)).replaceAll('\n', '\n        ');
}

await runCommand(usage, main);
