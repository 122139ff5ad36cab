// `cyborg-ops import nova-pci --conf <nova.conf> ...`: shows what of a compute node's PCI
// passthrough and vGPUs becomes settings of the agent, device profiles and flavors. With `--apply`
// it creates the profiles. It never edits nova.conf, flavors or a running host.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { WrongArguments } from '#core/command-line/arguments.ts';
import { jsonText, print, printError } from '#core/command-line/print.ts';
import { NovaConfRefused, readNovaConf } from '#core/contracts/nova/nova-conf.ts';
import { createDeps } from '#core/deps.ts';
import { DeviceProfileExists } from '#core/domain/errors.ts';
import { createDeviceProfiles } from '#core/operations/profiles/create-device-profiles.ts';
import type { Input, StackCommand } from '#operate/command.ts';
import { FlavorsRefused, readFlavors } from '#operate/import/nova/flavors.ts';
import {
  type HostSettings,
  type NovaPlan,
  type NovaRequest,
  planNova,
} from '#operate/import/nova/plan.ts';
import type { NewProfile } from '#operate/import/nova/plan-flavors.ts';
import { flavorCommands, novaLines } from '#operate/import/nova/print-plan.ts';

/** The microversion of the form of groups; the first that Cyborg has. */
const microversion = '2.0';
/** One request creates no more. */
const profilesAtOnce = 50;

async function main(input: Input): Promise<void> {
  const [flavors, out] = [input.text('flavors'), input.text('settings-out')];
  const [isApplied, isJson] = [input.has('apply'), input.has('json')];
  const suffix = input.text('suffix') ?? '-accel';
  const skip = input.all('skip');
  if (out !== undefined && !isApplied) throw new WrongArguments('--settings-out needs --apply.');
  const options = readNovaConf(input.all('conf').map((path) => ({ path, text: readText(path) })));
  const types = options.mdevTypes.map(({ type }) => type);
  const request: Omit<NovaRequest, 'stored'> = {
    options,
    flavors: flavors === undefined ? undefined : readFlavorFile(flavors),
    mdevTraits: new Map(input.all('mdev-trait').map((each) => readTrait(each, types))),
    isMdevAttached: input.has('attach-mdev'),
    skipped: new Set(skip),
  };
  let plan = planNova({ ...request, stored: undefined });
  const isCompared = isApplied || input.text('environment') !== undefined;
  const deps = isCompared ? { ...createDeps('import'), actor: 'operator' } : undefined;
  if (deps) {
    const names = plan.profiles.map(({ name }) => name);
    plan = planNova({ ...request, stored: await deps.store.profiles.byNames(names) });
  }
  const unknown = skip.find((name) => !plan.rows.some((row) => row.name === name));
  if (unknown !== undefined) throw new WrongArguments(`--skip ${unknown} names no row.`);
  if (isJson) {
    const { rows, settings, profiles } = plan;
    const commands = flavorCommands(plan, suffix);
    print(jsonText({ rows, settings, profiles, commands }));
  } else for (const line of novaLines(plan, suffix)) print(line);
  if (isRefused(plan)) return;
  if (isApplied && deps) {
    if (out !== undefined) checkFree(out, plan.settings);
    await createProfiles(deps, plan.profiles);
    if (out !== undefined) writeFileSync(out, settingsText(plan.settings));
    printError(`Device profiles created: ${plan.profiles.length}.`);
  } else if (!isJson) {
    const compared = isCompared ? '' : ' Stored profiles were not read: see --environment.';
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

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`${path} cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}

function readFlavorFile(path: string) {
  const text = readText(path);
  try {
    return readFlavors(text);
  } catch (error) {
    if (error instanceof FlavorsRefused) throw new FlavorsRefused(`${path} ${error.message}`);
    throw error;
  }
}

function readTrait(mapping: string, types: readonly string[]): readonly [string, string] {
  const [, trait, type] = /^(CUSTOM_[A-Z0-9_]{1,248})=(.+)$/.exec(mapping) ?? [];
  if (trait === undefined || type === undefined) {
    throw new WrongArguments(`--mdev-trait ${mapping} must be CUSTOM_<NAME>=<type>.`);
  }
  if (types.includes(type)) return [trait, type];
  throw new WrongArguments(
    `--mdev-trait ${mapping}: enabled_mdev_types has no ${type}; it has ${types.join(', ') || 'none'}.`,
  );
}

/** A file that exists is never replaced. */
function checkFree(path: string, settings: HostSettings | undefined): void {
  if (settings === undefined) throw new NovaConfRefused('Nothing moves: there are no settings.');
  if (!existsSync(path) || readText(path) === settingsText(settings)) return;
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
