import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Another system uses the directory. The message is one line for the user. */
class DirectoryInUse extends Error {
  override readonly name = 'DirectoryInUse';
}

/**
 * Locks the directory until this process ends. The lock of a dead process does not count.
 *
 * @throws DirectoryInUse naming the process that uses the directory
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
