// `cyborg-ops restore --stage <stage> --suffix <suffix> --moment <ISO time>`: copies the
// tables that DynamoDB has restored from a backup into the tables of the stage; with
// --without-backup it only withholds every handle. Without --apply it only counts rows.
// docs/operations/restore.md and docs/another-region.md list the steps before and after.

import * as z from 'zod';
import { WrongArguments } from '#core/command-line/arguments.ts';
import { print } from '#core/command-line/print.ts';
import { restoreBackup, withholdAll } from '#core/operations/restore/restore-backup.ts';
import { type BackupStore, backupStore } from '#core/store/backups/backups.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import type { Input, StackCommand } from '#operate/command.ts';

async function main(input: Input): Promise<void> {
  const [stage, suffix, apply] = [
    input.required('stage'),
    input.text('suffix'),
    input.has('apply'),
  ];
  const backups = backupStore(createDocuments().documents);
  if (input.has('without-backup')) {
    if (suffix !== undefined || input.text('moment') !== undefined) {
      throw new WrongArguments('--without-backup takes neither --suffix nor --moment.');
    }
    return withhold(backups, stage, apply);
  }
  if (!suffix) throw new WrongArguments('--suffix is missing.');
  const moment = parseMoment(input.text('moment'));
  const done = await restoreBackup({
    backups,
    stage,
    suffix,
    moment,
    clock: Date.now,
    isDryRun: !apply,
  });
  for (const { table, backup, put, deleted } of done) {
    const would = apply ? '' : 'would be ';
    print(`${table}: ${backup} rows in the backup; ${put} ${would}put, ${deleted} ${would}deleted`);
  }
  print(
    apply
      ? 'Restored. No handle can be claimed until its host has reported and Placement agrees.'
      : 'Nothing was written. Repeat with --apply to write.',
  );
}

/** The rows of the stage are lost: servers may have devices that no row names. */
async function withhold(backups: BackupStore, stage: string, apply: boolean): Promise<void> {
  const moment = new Date().toISOString();
  const stored = await withholdAll({ backups, stage, moment, isDryRun: !apply });
  print(
    `inventory: ${stored} handles ${apply ? 'are' : 'would be'} withheld, and all that hosts report from now on`,
  );
  print(
    apply
      ? 'No handle can be claimed until its host has reported and Placement agrees.'
      : 'Nothing was written. Repeat with --apply to write.',
  );
}

/** A time without a zone would depend on the zone of this machine. */
function parseMoment(text: string | undefined): string {
  if (text === undefined) throw new WrongArguments('--moment is missing.');
  const read = z.iso.datetime({ offset: true }).safeParse(text);
  const moment = new Date(read.data ?? Number.NaN);
  if (!read.success || Number.isNaN(moment.getTime())) {
    throw new WrongArguments(
      `--moment ${text} must be a time with its zone, such as 2026-11-20T13:00:00Z.`,
    );
  }
  if (moment.getTime() > Date.now()) throw new WrongArguments(`--moment ${text} is in the future.`);
  return moment.toISOString();
}

export const restore: StackCommand = { main: (input) => main(input).catch(explainAbsentTables) };

function explainAbsentTables(error: Error): never {
  if (error.name !== 'ResourceNotFoundException') throw error;
  throw new Error('Not all of these tables exist; nothing was written.');
}
