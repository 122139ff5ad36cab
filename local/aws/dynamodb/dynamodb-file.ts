// Changes to the engine's SQLite file beside the engine. Measured with version 1.2.1:
//
// - Each write to a table with a stream looks up the last number of the stream without an index:
//   5 ms more per write or read of the stream, after 20,000 records. This file adds the index.
// - The engine never removes stream records. DynamoDB keeps them for a day, so each start removes
//   older ones. The last record of each table stays: the engine continues its numbers.

import { DatabaseSync } from 'node:sqlite';
import { type EngineWrites, watchWrites } from './dynamodb-writes.ts';

const keptSeconds = 24 * 60 * 60;

export interface EngineFile {
  addIndex(): void;
  /** Call it before the engine opens the file, so that the two never wait for each other. */
  trim(): void;
  /** Reports writes of other connections, that is of the engine. */
  readonly writes: EngineWrites;
  close(): void;
}

export function openEngineFile(path: string): EngineFile {
  const database = new DatabaseSync(path, { timeout: 5000 });
  const version = database.prepare('PRAGMA data_version');
  const schema = database.prepare('SELECT 1 FROM sqlite_master WHERE name = ?');
  let isOpen = true;
  const writes = watchWrites(path, () => (isOpen ? Number(version.get()?.data_version) : 0));
  return {
    addIndex: () =>
      database.exec(`
        CREATE INDEX IF NOT EXISTS stream_records_by_number
          ON _stream_records (table_name, CAST(sequence_number AS INTEGER))
      `),
    trim: () => {
      // An engine killed right after its start leaves a file without tables.
      if (schema.get('_stream_records') === undefined) return;
      database.exec(`
        DELETE FROM _stream_records
          WHERE created_at < unixepoch() - ${keptSeconds}
            AND id NOT IN (SELECT MAX(id) FROM _stream_records GROUP BY table_name)
      `);
    },
    writes,
    close: () => {
      writes.close();
      if (isOpen) database.close();
      isOpen = false;
    },
  };
}
