// Numbers reports so that the control plane can tell the later of two.
//
// INVARIANTS
// - A number is on disk before it is used, so a crash cannot lead to using it twice.
// - Each number is at least the wall clock's, in tenths of a second (the control plane has room for
//   10^11 numbers a boot). A file that is lost or torn is therefore harmless: no number given
//   before is as high as the clock now.
// - With the file, a clock that was set back does no harm either.

import * as z from 'zod';
import { type Log, reasonOf } from './log.ts';
import type { StateFiles } from './state-files.ts';

const tickMs = 100;
const fileName = 'sequence.json';
const state = z.object({ boot_id: z.string(), last: z.number().int().min(0) });

export interface Sequence {
  next(): Promise<number>;
}

export interface SequenceDeps {
  readonly files: StateFiles;
  readonly bootId: string;
  readonly wallMs: () => number;
  readonly log: Log;
}

export async function openSequence(deps: SequenceDeps): Promise<Sequence> {
  let last = await lastOf(deps);
  return {
    next: async () => {
      last = Math.max(last + 1, Math.floor(deps.wallMs() / tickMs));
      try {
        await deps.files.replace(fileName, JSON.stringify({ boot_id: deps.bootId, last }));
      } catch (error) {
        // A full or read-only disk must not silence the host: the clock still orders its reports.
        deps.log.error('The sequence number could not be stored.', { reason: reasonOf(error) });
      }
      return last;
    },
  };
}

async function lastOf({ files, bootId, log }: SequenceDeps): Promise<number> {
  try {
    const text = await files.read(fileName);
    const stored = text === undefined ? undefined : state.parse(JSON.parse(text));
    return stored?.boot_id === bootId ? stored.last : 0;
  } catch (error) {
    log.info('No stored sequence number; resuming from the clock.', { reason: reasonOf(error) });
    return 0;
  }
}
