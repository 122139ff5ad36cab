// Files whose code runs with the agent's rights: no user but root and the agent's own can change
// or replace them.

import { lstatSync, realpathSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import { ConfigInvalid } from './config.ts';

/** Undefined if there is nothing at the path; a link is not followed. */
export function readStat(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

/** @throws ConfigInvalid with a sentence that names the file */
export function refuseUnsafe(path: string, { uid, mode }: Pick<Stats, 'uid' | 'mode'>): void {
  const user = process.getuid?.() ?? 0;
  if (uid !== 0 && uid !== user) {
    throw refusal(path, `belongs to user ${uid}; it must belong to root or to the agent's user`);
  }
  if ((mode & 0o022) !== 0) throw refusal(path, 'must not be writable by its group or by others');
}

/** A user who can write a folder can replace what is in it, except in a sticky one. */
export function refuseUnsafeAbove(path: string): void {
  const real = realpathSync(path);
  for (let folder = dirname(real); ; folder = dirname(folder)) {
    const stats = readStat(folder);
    if (!stats) throw refusal(folder, 'is gone');
    const { uid, mode } = stats;
    const isSticky = (mode & 0o1000) !== 0;
    refuseUnsafe(folder, { uid, mode: isSticky ? mode & ~0o022 : mode });
    if (folder === dirname(folder)) return;
  }
}

/** @throws ConfigInvalid unless the path is a program that the agent may run as root */
export function refuseUnsafeProgram(path: string): void {
  const stats = readStat(path);
  if (!stats) throw refusal(path, 'does not exist');
  if (!stats.isFile()) throw refusal(path, 'is not a regular file');
  if ((stats.mode & 0o111) === 0) throw refusal(path, 'is not executable');
  refuseUnsafe(path, stats);
  refuseUnsafeAbove(path);
}

export function refusal(path: string, fault: string): ConfigInvalid {
  return new ConfigInvalid(`${path} ${fault}.`);
}
