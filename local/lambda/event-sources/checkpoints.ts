// The position in a stream, by shard, in a small file that is replaced as a whole: a process
// killed at any moment leaves the old file or the new one. Positions are written in groups:
// records after the last written one are consumed twice, which consumers expect.

import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import * as z from 'zod';

export interface Checkpoints {
  /** The number of the last record that is done, or undefined: start at the oldest. */
  load(shardId: string): string | undefined;
  save(shardId: string, sequenceNumber: string): void;
  /** Writes all positions that are not written yet. */
  flush(): void;
  /** Call it when the stream no longer has the record; reading continues at the oldest record. */
  forget(shardId: string): void;
}

/** The first position is written at once, those of the next 100 ms together. */
const gatherMs = 100;

const form = z.record(z.string(), z.string());

/**
 * Without a file positions last as long as the process. A new table has another ARN.
 */
export function openCheckpoints(streamArn: string, file?: string): Checkpoints {
  const all = new Map(Object.entries(file === undefined ? {} : read(file)));
  const key = (shardId: string) => `${streamArn} ${shardId}`;
  let timer: NodeJS.Timeout | undefined;
  let isWritten = true;
  let writtenAt = Number.NEGATIVE_INFINITY;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (isWritten || file === undefined) return;
    isWritten = true;
    writtenAt = performance.now();
    const next = `${file}.next`;
    writeFileSync(next, JSON.stringify(Object.fromEntries(all), null, 2));
    renameSync(next, file);
  };
  const noteChange = () => {
    isWritten = false;
    const restMs = writtenAt + gatherMs - performance.now();
    if (restMs <= 0) flush();
    else timer ??= setTimeout(flush, restMs).unref();
  };
  return {
    load: (shardId) => all.get(key(shardId)),
    save: (shardId, sequenceNumber) => {
      all.set(key(shardId), sequenceNumber);
      noteChange();
    },
    flush,
    forget: (shardId) => {
      all.delete(key(shardId));
      noteChange();
    },
  };
}

function read(file: string): Record<string, string> {
  mkdirSync(dirname(file), { recursive: true });
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return {};
  }
  return form.parse(JSON.parse(text));
}
