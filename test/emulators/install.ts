// Where emulators are installed, once for all runs, and what is said where one cannot be.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** A folder for one version of an emulator. */
export function folderOf(emulator: string, version: string): string {
  return join(root, '.local', 'emulators', `${emulator}-${version}`);
}

/** The version in the emulator's file of versions. @param pattern with the version as its group */
export function versionIn(file: string, pattern: RegExp): string {
  const found = pattern.exec(readFileSync(join(import.meta.dirname, file), 'utf8'))?.[1];
  if (found === undefined) throw new Error(`${file} has no ${pattern}.`);
  return found;
}

/** The last line of what an installer has said. */
export function lastLineOf(error: unknown): string {
  const said = (error as { stderr?: Buffer }).stderr ?? (error as Error).message;
  return String(said).trim().split('\n').at(-1)?.slice(-300) ?? '';
}
