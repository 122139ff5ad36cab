// The file of faults in the agent's state. A boot makes it void.

import * as z from 'zod';
import type { Log } from '#agent/log.ts';
import { readState } from '#agent/state/read-state.ts';
import type { StateFiles } from '#agent/state/state-files.ts';

const fileName = 'faults.json';

const keptFault = z.object({
  /** The id of a row in the table of faults. */
  id: z.string(),
  since: z.iso.datetime(),
  /** When it was logged last, in milliseconds of the host's clock. */
  last: z.number(),
});
export type KeptFault = z.infer<typeof keptFault>;

const state = z.object({
  version: z.literal(1),
  boot_id: z.string(),
  /** Number of the last record of the kernel's log that was read. */
  sequence: z.number(),
  /** Keys are PCI addresses of physical functions. */
  faults: z.record(z.string(), z.array(keptFault)),
});
type State = z.infer<typeof state>;

export interface FaultRecords extends Pick<State, 'sequence' | 'faults'> {
  replace(sequence: number, faults: State['faults']): Promise<void>;
}

export async function openFaultRecords(
  files: StateFiles,
  bootId: string,
  log: Log,
): Promise<FaultRecords> {
  const kept = await readState(files, fileName, state, log);
  const { sequence, faults } = kept?.boot_id === bootId ? kept : { sequence: -1, faults: {} };
  return {
    sequence,
    faults,
    replace: async (last, next) => {
      const text: State = { version: 1, boot_id: bootId, sequence: last, faults: next };
      await files.replace(fileName, JSON.stringify(text));
    },
  };
}
