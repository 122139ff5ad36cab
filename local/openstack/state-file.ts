// The state of a fake service: in memory and, if a file is given, written before each answer, so
// that a process killed at any moment keeps every confirmed change.

import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type * as z from 'zod';

export interface State<T> {
  /** Change the state in place, then call {@link save}. */
  readonly now: T;
  save(): void;
}

/** The defaults of the schema are the initial state: the schema must accept `{}`. */
export function openState<T>(schema: z.ZodType<T>, file: string | undefined): State<T> {
  if (file === undefined) return { now: schema.parse({}), save: () => {} };
  mkdirSync(dirname(file), { recursive: true });
  const now = schema.parse(existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {});
  return {
    now,
    save: () => {
      // Renaming replaces the old file as a whole: a reader never sees half of a state.
      writeFileSync(`${file}.new`, JSON.stringify(now), { mode: 0o600 });
      renameSync(`${file}.new`, file);
    },
  };
}
