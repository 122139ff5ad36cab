// `cyborg-ops import nova-pci --conf <nova.conf> ...`: shows what of a compute node's PCI
// passthrough and vGPUs becomes settings of the agent, device profiles and flavors. With `--apply`
// it creates the profiles. It never edits nova.conf, flavors or a running host.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { WrongArguments } from '#core/command-line/arguments.ts';
import { jsonText, print, printError } from '#core/command-line/print.ts';
import { createDeps } from '#core/deps.ts';
import { DeviceProfileExists } from '#core/domain/errors.ts';
import { createDeviceProfiles } from '#core/operations/profiles/create-device-profiles.ts';
import { loadEnvironment } from './environment.ts';
import { NovaConfRefused, readNovaConf } from './import/nova/conf.ts';
import { FlavorsRefused, readFlavors } from './import/nova/flavors.ts';
import { type HostSettings, type NovaGiven, type NovaPlan, planNova } from './import/nova/plan.ts';
import type { NewProfile } from './import/nova/plan-flavors.ts';
import { commandsOf, novaLines } from './import/nova/print-plan.ts';
import type { StackCommand } from './ops/verb.ts';

/** Of the form of groups; the first that Cyborg has. */
const microversion = '2.0';
/** One request creates no more. */
const profilesAtOnce = 50;

async function main(words: string[]): Promise<void> {
  const { values: given } = parseArgs({
    args: words,
    options: {
      conf: { type: 'string', multiple: true, default: [] },
      flavors: { type: 'string' },
      'attach-mdev': { type: 'boolean', default: false },
      'mdev-trait': { type: 'string', multiple: true, default: [] },
      suffix: { type: 'string', default: '-accel' },
      skip: { type: 'string', multiple: true, default: [] },
      'settings-out': { type: 'string' },
      apply: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      environment: { type: 'string' },
    },
  });
  if (given.conf.length === 0) throw new WrongArguments('--conf is missing.');
  const out = given['settings-out'];
  if (out !== undefined && !given.apply) throw new WrongArguments('--settings-out needs --apply.');
  const options = readNovaConf(given.conf.map((path) => ({ path, text: textOf(path) })));
  const types = options.mdevTypes.map(({ type }) => type);
  const asked: Omit<NovaGiven, 'stored'> = {
    options,
    flavors: given.flavors === undefined ? undefined : flavorsIn(given.flavors),
    mdevTraits: new Map(given['mdev-trait'].map((each) => readTrait(each, types))),
    isMdevAttached: given['attach-mdev'],
    skipped: new Set(given.skip),
  };
  let plan = planNova({ ...asked, stored: undefined });
  const isCompared = given.apply || given.environment !== undefined;
  if (given.environment !== undefined) loadEnvironment(given.environment);
  const deps = isCompared ? { ...createDeps('import'), actor: 'operator' } : undefined;
  if (deps) {
    const names = plan.profiles.map(({ name }) => name);
    plan = planNova({ ...asked, stored: await deps.store.profiles.byNames(names) });
  }
  const unknown = given.skip.find((name) => !plan.rows.some((row) => row.name === name));
  if (unknown !== undefined) throw new WrongArguments(`--skip ${unknown} names no row.`);
  if (given.json) {
    const { rows, settings, profiles } = plan;
    const commands = commandsOf(plan, given.suffix);
    print(jsonText({ rows, settings, profiles, commands }));
  } else for (const line of novaLines(plan, given.suffix)) print(line);
  if (isRefused(plan)) return;
  if (given.apply && deps) {
    if (out !== undefined) checkFree(out, plan.settings);
    await createProfiles(deps, plan.profiles);
    if (out !== undefined) writeFileSync(out, settingsText(plan.settings));
    printError(`Device profiles created: ${plan.profiles.length}.`);
  } else if (!given.json) {
    const compared = isCompared ? '' : ' Stored profiles were not asked for: see --environment.';
    print(`Nothing was written. Repeat with --apply to create the profiles.${compared}`);
  }
}

function isRefused({ rows }: NovaPlan): boolean {
  const count = rows.filter(({ verdict }) => verdict === 'refuse').length;
  if (count === 0) return false;
  process.exitCode = 1;
  printError(`Nothing was written: ${count} refused. Mend each, or leave it out by --skip <name>.`);
  return true;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}

function flavorsIn(path: string) {
  const text = textOf(path);
  try {
    return readFlavors(text);
  } catch (error) {
    if (error instanceof FlavorsRefused) throw new FlavorsRefused(`${path} ${error.message}`);
    throw error;
  }
}

function readTrait(given: string, types: readonly string[]): readonly [string, string] {
  const [, trait, type] = /^(CUSTOM_[A-Z0-9_]{1,248})=(.+)$/.exec(given) ?? [];
  if (trait === undefined || type === undefined) {
    throw new WrongArguments(`--mdev-trait ${given} must be CUSTOM_<NAME>=<type>.`);
  }
  if (types.includes(type)) return [trait, type];
  throw new WrongArguments(
    `--mdev-trait ${given}: enabled_mdev_types has no ${type}; it has ${types.join(', ') || 'none'}.`,
  );
}

/** A file that exists is never replaced. */
function checkFree(path: string, settings: HostSettings | undefined): void {
  if (settings === undefined) throw new NovaConfRefused('Nothing moves: there are no settings.');
  if (!existsSync(path) || textOf(path) === settingsText(settings)) return;
  throw new NovaConfRefused(`${path} exists with other content: nothing was written.`);
}

function settingsText(settings: HostSettings | undefined): string {
  return `${JSON.stringify(settings, null, 2)}\n`;
}

async function createProfiles(
  deps: ReturnType<typeof createDeps>,
  profiles: readonly NewProfile[],
): Promise<void> {
  for (let from = 0; from < profiles.length; from += profilesAtOnce) {
    await createDeviceProfiles(deps, profiles.slice(from, from + profilesAtOnce), microversion);
  }
}

export const importNovaPci: StackCommand = {
  main,
  isRefusal: (error) =>
    error instanceof NovaConfRefused ||
    error instanceof FlavorsRefused ||
    error instanceof DeviceProfileExists,
};
