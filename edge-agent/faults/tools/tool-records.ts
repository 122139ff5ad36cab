// The file of faults that vendors' tools have named, in the agent's state. It outlasts boots: a
// tool that fails after the boot does not say that the card was repaired.

import * as z from 'zod';
import type { Log } from '#agent/log.ts';
import { readState } from '#agent/state/read-state.ts';
import type { StateFiles } from '#agent/state/state-files.ts';

const fileName = 'tool-faults.json';

const keptToolFault = z.object({
  severity: z.enum(['fatal', 'warning']),
  meaning: z.string(),
  nextStep: z.string(),
  since: z.iso.datetime(),
  /** Ids of the card that has the fault: another card at the address does not have it. */
  ids: z.string().optional(),
});
export type KeptToolFault = z.infer<typeof keptToolFault>;

/** Keys are PCI addresses. */
const faults = z.record(z.string(), keptToolFault);
const stateForm = {
  name: fileName,
  form: z.object({ version: z.literal(1), faults }),
  event: "Faults by vendors' tools unreadable, kept aside",
};

export interface ToolRecords {
  readonly faults: z.infer<typeof faults>;
  replace(next: z.infer<typeof faults>): Promise<void>;
}

export async function openToolRecords(files: StateFiles, log: Log): Promise<ToolRecords> {
  return {
    faults: (await readState(files, stateForm, log))?.faults ?? {},
    replace: (next) => files.replace(fileName, JSON.stringify({ version: 1, faults: next })),
  };
}
