// Reads a JSON file of the agent's state. A file that is not valid is kept aside for people, and
// counts as absent.

import type * as z from 'zod';
import { type Log, reasonOf } from '#agent/log.ts';
import type { StateFiles } from './state-files.ts';

interface StateForm<T> {
  /** The name of the file. */
  readonly name: string;
  readonly form: z.ZodType<T>;
  /** The event that the log has if the file is not valid. */
  readonly event: string;
}

export async function readState<T>(
  files: Pick<StateFiles, 'read' | 'keepAside'>,
  { name, form, event }: StateForm<T>,
  log: Log,
): Promise<T | undefined> {
  const text = await files.read(name);
  if (text === undefined) return undefined;
  try {
    return form.parse(JSON.parse(text));
  } catch (error) {
    const kept = await files.keepAside(name);
    log.error(event, { kept, reason: reasonOf(error) });
    return undefined;
  }
}
