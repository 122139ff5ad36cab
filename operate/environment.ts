// The settings of a deployed stack are those of its functions. AWS gives them as JSON, and `npm start`
// writes its own in the same form; see docs/operations.md.

import { readFileSync } from 'node:fs';
import * as z from 'zod';

/** Makes them this process's own, beside those that it has. @throws Error where the file is none */
export function loadEnvironment(file: string): void {
  const read = z.record(z.string(), z.string()).safeParse(jsonOf(readFileSync(file, 'utf8')));
  if (!read.success) throw new Error(`${file} must be a JSON object of texts.`);
  // Whatever the caller's environment says comes first: credentials, not least.
  process.env = { ...read.data, ...process.env };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
