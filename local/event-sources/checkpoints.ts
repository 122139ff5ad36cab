// How far a stream has been consumed, by shard, in a small file that is replaced as a whole: a
// process killed at any moment leaves the old one or the new one.

import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import * as z from 'zod';

export interface Checkpoints {
  /** Number of the last record that needs no more work, or undefined: start at the oldest. */
  load(shardId: string): string | undefined;
  save(shardId: string, sequenceNumber: string): void;
  /** The record is gone from the stream; the oldest one there is comes next. */
  forget(shardId: string): void;
}

const form = z.record(z.string(), z.string());

/** Without a file: as long as the process. The stream's ARN tells a new table from an old one. */
export function openCheckpoints(streamArn: string, file?: string): Checkpoints {
  const all = new Map(Object.entries(file === undefined ? {} : read(file)));
  const key = (shardId: string) => `${streamArn} ${shardId}`;
  const write = () => {
    if (file === undefined) return;
    const next = `${file}.next`;
    writeFileSync(next, JSON.stringify(Object.fromEntries(all), null, 2));
    renameSync(next, file);
  };
  return {
    load: (shardId) => all.get(key(shardId)),
    save: (shardId, sequenceNumber) => {
      all.set(key(shardId), sequenceNumber);
      write();
    },
    forget: (shardId) => {
      all.delete(key(shardId));
      write();
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
