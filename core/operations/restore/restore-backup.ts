import { isDeepStrictEqual } from 'node:util';
import { forEachAtOnce } from '#core/operations/for-each-at-once.ts';
import type { BackupStore } from '#core/store/backups/backups.ts';
import { restoreClaims, withoutHalves } from '#core/store/backups/restored-claims.ts';
import { isHandle, restoredRow } from '#core/store/backups/restored-rows.ts';
import { type Row, restoredKey } from '#core/store/rows/rows.ts';
import { type TableName, tableName } from '#core/store/table/tables.ts';

interface Restoration {
  readonly backups: BackupStore;
  readonly stage: string;
  /** What the names of the backup's tables end with, behind the stage's own and a hyphen. */
  readonly suffix: string;
  /** When the backup was made; ISO 8601. */
  readonly moment: string;
  /** ms since 1970. */
  readonly clock: () => number;
  /** Nothing is written; what would be is counted. */
  readonly isDryRun: boolean;
}

interface RestoredTable {
  readonly table: TableName;
  readonly backup: number;
  readonly put: number;
  readonly deleted: number;
}

// Inventory comes before ARQs. Rows that are still missing do no harm: no handle can be claimed
// meanwhile.
const restoredTables = ['inventory', 'arqs', 'device-profiles'] as const satisfies TableName[];

/** Rows written at once. */
const parallelMax = 16;

/**
 * Makes the stage's tables what the backup's tables are, with every handle withheld: a handle may
 * have another holder since the backup, which reinstate-handles.ts finds out. Nothing else may
 * write meanwhile. After a failure, run it again from the same backup.
 */
export async function restoreBackup(restoration: Restoration): Promise<RestoredTable[]> {
  const { backups, stage, suffix } = restoration;
  // All rows of the backup are read before anything is written.
  const read = new Map<TableName, ReadonlyMap<string, Row>>();
  for (const table of restoredTables) {
    read.set(table, await backups.rows(`${tableName(stage, table)}-${suffix}`));
  }
  const [inventory, arqs] = [read.get('inventory'), read.get('arqs')];
  if (inventory && arqs) {
    const whole = withoutHalves(arqs);
    read.set('arqs', whole).set('inventory', restoreClaims(whole, inventory));
  }
  await withholdAll(restoration);
  const done: RestoredTable[] = [];
  for (const [table, from] of read) done.push(await restoreTable(restoration, table, from));
  return done;
}

/**
 * Withholds every handle, and those that later reports add. Before a restore it comes first: from
 * here on no handle can be claimed, even if the restore fails later. Alone it is for a stage whose
 * rows are lost: servers may have devices that no row names.
 *
 * @returns how many handles are stored
 */
export async function withholdAll({
  backups,
  stage,
  moment,
  isDryRun,
}: Omit<Restoration, 'suffix' | 'clock'>): Promise<number> {
  const inventory = tableName(stage, 'inventory');
  if (!isDryRun) await backups.noteMoment(inventory, moment);
  const handles = [...(await backups.rows(inventory)).values()].filter(isHandle);
  if (!isDryRun)
    await forEachAtOnce(handles, parallelMax, (handle) =>
      backups.withhold(inventory, handle, moment),
    );
  return handles.length;
}

async function restoreTable(
  { backups, stage, moment, clock, isDryRun }: Restoration,
  table: TableName,
  from: ReadonlyMap<string, Row>,
): Promise<RestoredTable> {
  const name = tableName(stage, table);
  const to = await backups.rows(name);
  const put: Row[] = [];
  const deleted: Row[] = [];
  for (const key of new Set([...from.keys(), ...to.keys()])) {
    const current = to.get(key);
    if (current?.pk === restoredKey().pk) continue;
    const row = restoredRow(table, from.get(key), { moment, now: clock(), current });
    if (row === undefined && current !== undefined) deleted.push(current);
    if (row !== undefined && !isDeepStrictEqual(row, current)) put.push(row);
  }
  if (!isDryRun) {
    await forEachAtOnce(put, parallelMax, (row) => backups.put(name, row));
    await forEachAtOnce(deleted, parallelMax, (row) => backups.delete(name, row));
  }
  return { table, backup: from.size, put: put.length, deleted: deleted.length };
}
