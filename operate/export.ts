// `cyborg-ops export cyborg --tables <file>`: prints the SQL statements that bring Cyborg's
// tables, from the time of the import, to what servers have now. It changes nothing.
// docs/import.md has the steps before and after.

import { readFileSync } from 'node:fs';
import { printDocument, printError } from '#core/command-line/print.ts';
import { createDeps, type Deps } from '#core/deps.ts';
import type { Arq } from '#core/domain/arq/arq.ts';
import { allProfiles } from '#core/operations/profiles/rename-in-profiles.ts';
import type { Input, StackCommand } from './command.ts';
import { type CyborgTables, readTables, TablesRefused } from './import/cyborg-tables.ts';
import { planReturn } from './import/plan-return.ts';

async function main(input: Input): Promise<void> {
  const tables = readTables(readFileSync(input.required('tables'), 'utf8'));
  const deps = createDeps('export');
  const state = { profiles: await allProfiles(deps), arqs: await boundArqs(deps, tables) };
  const { statements, refused, counts } = planReturn(tables, state);
  const { ended, added, kept, profiles } = counts;
  printError(`ARQs: ${kept} kept, ${ended} ended, ${added} added; profiles: ${profiles} changed`);
  for (const sentence of refused) printError(sentence);
  if (refused.length > 0) {
    printError(`Nothing was printed: delete these ${refused.length} servers first.`);
    process.exitCode = 1;
    return;
  }
  printDocument(statements.join('\n'));
}

/** The ARQs that hold handles of devices on Cyborg's hosts. */
async function boundArqs({ store }: Deps, { devices }: CyborgTables): Promise<Arq[]> {
  const bound: Arq[] = [];
  for (const hostname of new Set(devices.map((each) => each.hostname))) {
    const host = await store.inventory.host(hostname);
    const providers = await store.inventory.providers(
      host.devices.flatMap((each) => each.providers),
    );
    const claims = providers.flatMap(({ handles }) => handles.flatMap(({ claim }) => claim ?? []));
    const arqs = await store.arqs.byUuids(claims.map(({ arqUuid }) => arqUuid));
    for (const arq of arqs.values()) if (arq.state === 'Bound') bound.push(arq);
  }
  return bound;
}

export const exportCyborg: StackCommand = {
  main,
  isRefusal: (error) => error instanceof TablesRefused,
};
