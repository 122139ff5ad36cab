// `cyborg-ops profiles migrate --rename trait:OLD=NEW --drop trait:OLD ...`: gives traits,
// resource classes and properties in stored device profiles their new names. Without --apply it
// only shows what would change. The settings are those of the functions, from the environment or
// from `--environment <file>`.

import { WrongArguments } from '#core/command-line/arguments.ts';
import { type Column, tableLines } from '#core/command-line/columns.ts';
import { print } from '#core/command-line/print.ts';
import { createDeps } from '#core/deps.ts';
import { InvalidInput } from '#core/domain/errors.ts';
import {
  type Migration,
  type Rename,
  readDrop,
  readRename,
  renamesOfReleases,
} from '#core/domain/profile/profile-renames.ts';
import { planRenames, renameInProfile } from '#core/operations/profiles/rename-in-profiles.ts';
import type { Input, StackCommand } from '#operate/command.ts';

async function main(input: Input): Promise<void> {
  const renames = [
    ...renamesOfReleases,
    ...input.all('rename').map((text) => readOrExplain(readRename, text)),
    ...input.all('drop').map((text) => readOrExplain(readDrop, text)),
  ];
  if (renames.length === 0) {
    throw new WrongArguments(
      '--rename and --drop are missing: this release has renamed nothing itself.',
    );
  }
  const deps = { ...createDeps('profiles'), actor: 'operator' };
  const plan = await planRenames(deps, renames);
  const use = new Map<string, number>();
  for (const { profile } of plan) {
    use.set(profile.name, await deps.listings.arqsOfProfile(profile.name));
  }
  for (const line of tableLines(columns, toRows(plan, use), terminalWidth(process.stdout))) {
    print(line);
  }
  if (!input.has('apply')) {
    print(`\nProfiles that would change: ${plan.length}. Nothing was written; --apply writes.`);
    return;
  }
  let left = 0;
  for (const migration of plan) {
    if (await renameInProfile(deps, migration)) continue;
    left += 1;
    print(`${migration.profile.name}: changed or deleted meanwhile; run the command again.`);
  }
  print(`\nProfiles changed: ${plan.length - left}. Servers that run keep what they have.`);
  process.exitCode = left > 0 ? 1 : 0;
}

interface Row {
  readonly profile: string;
  readonly group: string;
  readonly before: string;
  readonly after: string;
  readonly use: number | undefined;
}

const columns: readonly Column<Row>[] = [
  { title: 'profile', of: ({ profile }) => profile, isWhole: true },
  { title: 'group', of: ({ group }) => group },
  { title: 'before', of: ({ before }) => before, isWhole: true },
  { title: 'after', of: ({ after }) => after, isWhole: true },
  { title: 'in use by ARQs', of: ({ use }) => use },
];

function toRows(plan: readonly Migration[], use: ReadonlyMap<string, number>): readonly Row[] {
  return plan.flatMap(({ profile: { name }, changes }) =>
    changes.map(({ group, alternative, from, to }) => ({
      profile: name,
      group: alternative === undefined ? `${group}` : `${group} of alternatives[${alternative}]`,
      before: from,
      after: to ?? 'dropped',
      use: use.get(name),
    })),
  );
}

function terminalWidth({ isTTY, columns: width }: NodeJS.WriteStream): number {
  return isTTY ? width : Number.POSITIVE_INFINITY;
}

function readOrExplain(read: (text: string) => Rename, text: string): Rename {
  try {
    return read(text);
  } catch (error) {
    throw error instanceof InvalidInput ? new WrongArguments(error.message) : error;
  }
}

export const profiles: StackCommand = {
  main,
  isRefusal: (error) => error instanceof InvalidInput,
};
