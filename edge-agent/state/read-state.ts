// Reads a JSON file of the agent's state. A file that is not valid is kept aside for people, and
// counts as absent.

import type * as z from 'zod';
import { type Log, reasonOf } from '#agent/log.ts';
import type { StateFiles } from './state-files.ts';

export async function readState<T>(
  files: Pick<StateFiles, 'read' | 'keepAside'>,
  name: string,
  form: z.ZodType<T>,
  log: Log,
): Promise<T | undefined> {
  const text = await files.read(name);
  if (text === undefined) return undefined;
  try {
    return form.parse(JSON.parse(text));
  } catch (error) {
    const kept = await files.keepAside(name);
    log.error('State file unreadable, kept aside', { file: name, kept, reason: reasonOf(error) });
    return undefined;
  }
}
