// Adds records to the history, with all of their copies, as the consumer of the streams does.

import { randomUUID } from 'node:crypto';
import { partitionsOfEnd } from '#core/domain/history/ended-incidents.ts';
import { type HistoryRecord, partitionsFor } from '#core/domain/history/history.ts';
import { historyWriter } from '#core/store/history/history.ts';
import { createDocuments } from '#core/store/table/documents.ts';
import { tableName } from '#core/store/table/tables.ts';
import { stage } from '#test/support/world.ts';

export type GivenRecord = Pick<HistoryRecord, 'at' | 'kind'> & Partial<HistoryRecord>;

export async function addRecords(...records: readonly GivenRecord[]): Promise<void> {
  const { documents, close } = createDocuments();
  const tables = { history: tableName(stage, 'history'), inventory: '' };
  const history = historyWriter(documents, tables, 365);
  for (const each of records) {
    const record = { id: randomUUID(), hostname: 'cmp9', ...each };
    const partitions = [...partitionsFor(record), ...partitionsOfEnd(record)];
    await Promise.all(partitions.map((partition) => history.add(record, partition)));
  }
  close();
}
