// `cyborg-ops import cyborg --tables <file>`: shows what of Cyborg's tables this stack would take
// over; with `--apply` it takes it over. `cyborg-ops import queries` prints the statements whose
// answers the file has. docs/import.md
// has the steps before and after.

import { readFileSync } from 'node:fs';
import { WrongArguments } from '#core/command-line/arguments.ts';
import { jsonText, print, printError } from '#core/command-line/print.ts';
import { type ConsumerDeps, createConsumerDeps } from '#core/consumer-deps.ts';
import { importAll } from '#core/operations/import/import-all.ts';
import { ImportRefused } from '#core/operations/import/import-refused.ts';
import { importStore } from '#core/store/arqs/imports.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { tableName } from '#core/store/table/tables.ts';
import type { Input, StackCommand } from '#operate/command.ts';
import { NotVisible, readCloudFacts } from '#operate/import/cloud-facts.ts';
import { queries, readTables, TablesRefused } from '#operate/import/cyborg-tables.ts';
import { type ImportPlan, planImport, refusedRows, unknownSkips } from '#operate/import/plan.ts';
import { countLine, planLines } from '#operate/import/print-plan.ts';
import { printLine } from '#operate/print-line.ts';

async function main(input: Input): Promise<void> {
  const tables = tablesIn(input.required('tables'));
  for (const warning of tables.warnings) printError(warning);
  const isJson = input.has('json');
  const deps = createConsumerDeps('import');
  const facts = await readCloudFacts(deps, tables);
  const skipped = new Set(input.all('skip'));
  const plan = planImport(tables, facts, skipped, new Date(deps.clock()).toISOString());
  const [unknown] = unknownSkips(plan, skipped);
  if (unknown !== undefined) throw new WrongArguments(`--skip ${unknown} names nothing in Cyborg.`);
  if (isJson) print(jsonText(plan.rows));
  else for (const line of planLines(plan)) printLine(line);
  const refused = refusedRows(plan);
  if (!isJson) print(countLine(plan));
  if (refused.length > 0) {
    process.exitCode = 1;
    printError(
      `Nothing was written: ${refused.length} refused. Mend each, or leave it out by --skip <name>.`,
    );
    return;
  }
  if (input.has('apply')) await apply(deps, plan);
  else if (!isJson) print('Nothing was written. Repeat with --apply to write.');
}

function tablesIn(file: string) {
  try {
    return readTables(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error instanceof TablesRefused) throw new TablesRefused(`${file} ${error.message}.`);
    throw error;
  }
}

async function apply(deps: ConsumerDeps, plan: ImportPlan): Promise<void> {
  const { strong } = createDocuments();
  const [arqs, inventory] = (['arqs', 'inventory'] as const).map((name) =>
    tableName(deps.settings.stage, name),
  ) as [string, string];
  const imports = importStore(strong, { arqs, inventory });
  const { imported, present } = await importAll({ ...deps, imports, inform: printError }, plan);
  print(`Imported ${imported}; ${present} were present already.`);
}

export const importQueries: StackCommand = { main: async () => print(queries()) };

export const importCyborg: StackCommand = {
  main,
  isRefusal: (error) =>
    error instanceof TablesRefused || error instanceof ImportRefused || error instanceof NotVisible,
};
