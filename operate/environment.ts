// The settings of a deployed stack are the environment of its functions. AWS returns them as
// JSON, and `npm start` writes them in the same form; see docs/operations/diagnosis.md.

import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { parseJson } from '#core/shapes/derive/parse-json.ts';

/** Adds the file's settings to this process's environment. @throws Error if the file is invalid */
export function loadEnvironment(file: string): void {
  const read = z.record(z.string(), z.string()).safeParse(parseJson(readFileSync(file, 'utf8')));
  if (!read.success) throw new Error(`${file} must be a JSON object with string values.`);
  // The process's own environment has precedence, so that credentials stay.
  process.env = { ...read.data, ...process.env };
}
