// Devices that an operator has confirmed by `cyborg-agent confirm ADDRESS`: the device at the
// address may be offered as it is now. The command alone writes the file, also beside the agent,
// which alone reads it.

import * as z from 'zod';
import { type Log, reasonOf } from '#agent/log.ts';
import { readState } from './read-state.ts';
import type { StateFiles } from './state-files.ts';

const fileName = 'confirmations.json';

const confirmation = z.object({
  at: z.iso.datetime(),
  /** What the device was then, as the agent compares it. */
  identity: z.string(),
});
const stateForm = {
  name: fileName,
  form: z.object({
    version: z.literal(1),
    /** Keys are PCI addresses. */
    devices: z.record(z.string(), confirmation),
  }),
  event: 'Confirmations unreadable, kept aside',
};
export type Confirmations = Readonly<Record<string, z.infer<typeof confirmation>>>;

export type ReadConfirmations = () => Promise<Confirmations>;

/** Reads the file at each call. A file that cannot be read confirms nothing, and never rejects. */
export function openConfirmations(files: StateFiles, log: Log): ReadConfirmations {
  let isUnread = false;
  return async () => {
    try {
      const confirmations = await readConfirmations(files, log);
      isUnread = false;
      return confirmations;
    } catch (error) {
      // It is read every few seconds.
      if (!isUnread) log.error('Confirmations not read', { reason: reasonOf(error) });
      isUnread = true;
      return {};
    }
  };
}

async function readConfirmations(files: StateFiles, log: Log): Promise<Confirmations> {
  return (await readState(files, stateForm, log))?.devices ?? {};
}

export async function confirmAddress(
  files: StateFiles,
  log: Log,
  address: string,
  confirmed: z.infer<typeof confirmation>,
): Promise<void> {
  const devices = { ...(await readConfirmations(files, log)), [address]: confirmed };
  await files.replace(fileName, JSON.stringify({ version: 1, devices }));
}

/** Whether the operator has confirmed the device since then. */
export function isConfirmedSince(
  confirmations: Confirmations,
  address: string,
  sinceMs: number,
): boolean {
  const at = confirmations[address]?.at;
  return at !== undefined && Date.parse(at) >= sinceMs;
}
