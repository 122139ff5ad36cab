// Whether the consumers have read the streams of the tables to their ends: compares their
// checkpoints with the last record in the engine's file.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as z from 'zod';
import { streamConsumers } from '#core/contracts/queues/queues.ts';
import type { Layout } from '#local/process/layout.ts';
import { checkpointDirectory, engineFile } from '#local/process/parts.ts';

export interface StreamProgress {
  areRead(): boolean;
  close(): void;
}

const checkpoints = z.record(z.string(), z.string());

export function watchStreams(layout: Layout): StreamProgress {
  const database = new DatabaseSync(engineFile(layout), { readOnly: true, timeout: 5000 });
  const last = database.prepare(
    'SELECT table_name AS name, MAX(CAST(sequence_number AS INTEGER)) AS number FROM _stream_records GROUP BY table_name',
  );
  last.setReadBigInts(true);
  return {
    areRead: () => {
      const read = positionsIn(checkpointDirectory(layout));
      return last.all().every(({ name, number }) =>
        streamConsumers.every((consumer) => {
          const position = read.get(`${consumer} ${String(name)}`);
          return position !== undefined && position >= BigInt(number as bigint);
        }),
      );
    },
    close: () => database.close(),
  };
}

/** Keys are a consumer and a table: `changes dev-arqs`. */
function positionsIn(directory: string): ReadonlyMap<string, bigint> {
  const positions = new Map<string, bigint>();
  for (const file of filesIn(directory)) {
    const consumer = streamConsumers.find((name) => file.startsWith(`${name}-`));
    const saved = checkpoints.parse(JSON.parse(readFileSync(join(directory, file), 'utf8')));
    for (const [key, number] of Object.entries(saved)) {
      const table = /:table\/([^/]+)\/stream/.exec(key)?.[1];
      if (consumer && table) positions.set(`${consumer} ${table}`, BigInt(number));
    }
  }
  return positions;
}

/** Empty before the first start of the consumers. */
function filesIn(directory: string): string[] {
  try {
    return readdirSync(directory).filter((file) => file.endsWith('.json'));
  } catch {
    return [];
  }
}
