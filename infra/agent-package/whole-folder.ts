// A folder that is there whole or not at all, whenever the process dies.

import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const unfinished = '.unfinished-';

/** Replaces the folder once its content is written; a failure leaves the folder as it was. */
export function writeWhole(folder: string, write: (into: string) => void): void {
  removeUnfinished(folder);
  const made = `${folder}${unfinished}${process.pid}`;
  const previous = `${made}-previous`;
  try {
    mkdirSync(made, { recursive: true });
    write(made);
    if (existsSync(folder)) renameSync(folder, previous);
    renameSync(made, folder);
  } finally {
    for (const each of [made, previous]) rmSync(each, { recursive: true, force: true });
  }
}

/** What processes have left that were killed. */
function removeUnfinished(folder: string): void {
  const parent = dirname(folder);
  if (!existsSync(parent)) return;
  const begins = `${basename(folder)}${unfinished}`;
  for (const name of readdirSync(parent).filter((each) => each.startsWith(begins))) {
    const pid = Number.parseInt(name.slice(begins.length), 10);
    if (!isRunning(pid)) rmSync(join(parent, name), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
