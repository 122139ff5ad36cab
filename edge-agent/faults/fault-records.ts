// The file of faults in the agent's state. A boot ends all but those that last.

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
  /** The port above the device, or its NVSwitch, at which it was logged. */
  port: z.string().optional(),
  /** A boot does not end it. */
  lasts: z.literal(true).optional(),
  /** Ids of the card that has a lasting fault: another card at the address does not have it. */
  ids: z.string().optional(),
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
const event = 'Faults of devices unreadable, kept aside';
const stateForm = { name: fileName, form: state, event };

export interface FaultRecords extends Pick<State, 'sequence' | 'faults'> {
  replace(sequence: number, faults: State['faults']): Promise<void>;
}

export async function openFaultRecords(
  files: StateFiles,
  bootId: string,
  log: Log,
): Promise<FaultRecords> {
  const kept = await readState(files, stateForm, log);
  const isSameBoot = kept?.boot_id === bootId;
  const sequence = isSameBoot ? kept.sequence : -1;
  const faults = isSameBoot ? kept.faults : lasting(kept?.faults ?? {});
  return {
    sequence,
    faults,
    replace: async (last, next) => {
      const text: State = { version: 1, boot_id: bootId, sequence: last, faults: next };
      await files.replace(fileName, JSON.stringify(text));
    },
  };
}

function lasting(faults: State['faults']): State['faults'] {
  const kept = Object.entries(faults).map(([address, all]) => {
    return [address, all.filter(({ lasts }) => lasts)] as const;
  });
  return Object.fromEntries(kept.filter(([, all]) => all.length > 0));
}
