import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** One system works on one directory. The message is one line, fit to be all that a user sees. */
export class DirectoryInUse extends Error {
  override readonly name = 'DirectoryInUse';
}

/**
 * Holds the directory until this process ends, however it ends: what a dead process has left is not in
 * anybody's way.
 *
 * @throws DirectoryInUse naming the process that works on it
 */
export function lockDirectory(directory: string): void {
  const file = `${directory}.pid`;
  mkdirSync(dirname(file), { recursive: true });
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' });
  } catch {
    const holder = Number(readFileSync(file, 'utf8'));
    if (isAlive(holder)) {
      throw new DirectoryInUse(
        `${directory} is in use by process ${holder}: stop that system before you start another.`,
      );
    }
    writeFileSync(file, String(process.pid));
  }
  process.once('exit', () => rmSync(file, { force: true }));
}

function isAlive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch {
    return false;
  }
}
