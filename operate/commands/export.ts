// `cyborg-ops export cyborg --tables <file>`: prints the SQL statements that bring Cyborg's
// tables, from the time of the import, to what servers have now. It changes nothing.
// docs/import.md has the steps before and after.

import { readFileSync } from 'node:fs';
import { printDocument, printError } from '#core/command-line/print.ts';
import { createDeps, type Deps } from '#core/deps.ts';
import type { Arq } from '#core/domain/arq/arq.ts';
import type { AttachHandle } from '#core/domain/device/device.ts';
import { allProfiles } from '#core/operations/profiles/rename-in-profiles.ts';
import type { Input, StackCommand } from '#operate/command.ts';
import { type CyborgTables, readTables, TablesRefused } from '#operate/import/cyborg-tables.ts';
import { planReturn } from '#operate/import/plan-return.ts';

async function main(input: Input): Promise<void> {
  const tables = readTables(readFileSync(input.required('tables'), 'utf8'));
  for (const warning of tables.warnings) printError(warning);
  const deps = createDeps('export');
  const handles = await handlesOf(deps, tables);
  const arqs = await boundArqs(deps, handles);
  const state = { profiles: await allProfiles(deps), arqs, handles };
  const { statements, refused, warnings, counts } = planReturn(tables, state);
  const { ended, added, kept, profiles } = counts;
  printError(`ARQs: ${kept} kept, ${ended} ended, ${added} added; profiles: ${profiles} changed`);
  for (const sentence of [...warnings, ...refused]) printError(sentence);
  if (refused.length > 0) {
    printError(`Nothing was printed: delete these ${refused.length} servers first.`);
    process.exitCode = 1;
    return;
  }
  printDocument(statements.join('\n'));
}

/** The attach handles of devices on Cyborg's hosts. */
async function handlesOf({ store }: Deps, { devices }: CyborgTables): Promise<AttachHandle[]> {
  const handles: AttachHandle[] = [];
  for (const hostname of new Set(devices.map((each) => each.hostname))) {
    const host = await store.inventory.host(hostname);
    const uuids = host.devices.flatMap((each) => each.providers);
    const providers = await store.inventory.providers(uuids);
    handles.push(...providers.flatMap((each) => each.handles));
  }
  return handles;
}

/** The ARQs that hold these attach handles. */
async function boundArqs({ store }: Deps, handles: readonly AttachHandle[]): Promise<Arq[]> {
  const claims = handles.flatMap(({ claim }) => claim ?? []);
  const arqs = await store.arqs.byUuids(claims.map(({ arqUuid }) => arqUuid));
  return [...arqs.values()].filter(({ state }) => state === 'Bound');
}

export const exportCyborg: StackCommand = {
  main,
  isRefusal: (error) => error instanceof TablesRefused,
};
