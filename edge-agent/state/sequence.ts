// Numbers reports, so that the control plane can order them.
//
// INVARIANTS
// - A number is on disk before it is used, so a crash cannot use it twice.
// - Each number is at least the wall clock's, in tenths of a second (the control plane has room
//   for 10^11 numbers per boot). A lost or torn file is therefore harmless: every earlier number
//   is lower than the clock.
// - With the file, a clock that was set back is harmless too.

import * as z from 'zod';
import { type Log, reasonOf } from '#agent/log.ts';
import type { StateFiles } from './state-files.ts';

const tickMs = 100;
const fileName = 'sequence.json';
const state = z.object({ boot_id: z.string(), last: z.number().int().min(0) });

export interface Sequence {
  next(): Promise<number>;
}

interface SequenceDeps {
  readonly files: StateFiles;
  readonly bootId: string;
  readonly wallMs: () => number;
  readonly log: Log;
}

export async function openSequence(deps: SequenceDeps): Promise<Sequence> {
  let last = await readLast(deps);
  return {
    next: async () => {
      last = Math.max(last + 1, Math.floor(deps.wallMs() / tickMs));
      try {
        await deps.files.replace(fileName, JSON.stringify({ boot_id: deps.bootId, last }));
      } catch (error) {
        // A full or read-only disk must not stop the reports: the clock still orders them.
        deps.log.error('Sequence number not stored', { reason: reasonOf(error) });
      }
      return last;
    },
  };
}

async function readLast({ files, bootId, log }: SequenceDeps): Promise<number> {
  try {
    const text = await files.read(fileName);
    const stored = text === undefined ? undefined : state.parse(JSON.parse(text));
    return stored?.boot_id === bootId ? stored.last : 0;
  } catch (error) {
    log.info('No stored sequence number, using the clock', { reason: reasonOf(error) });
    return 0;
  }
}
