// Locks the state directory for one agent. A second agent, for example started by hand beside the
// service, would run the same jobs on the same devices and overwrite the files of the first.
//
// The lock is the kernel's, on a file that this process keeps open: it ends with the process,
// however that ends, and of two processes that start at once it has one.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { type Log, reasonOf } from '#agent/log.ts';

/** The message is for the operator who started the second agent. */
export class StateInUse extends Error {
  override readonly name = 'StateInUse';
}

/** Never closed: garbage collection would close the file, and end the lock. */
const held: FileHandle[] = [];

/**
 * Holds the directory until this process ends. False if the lock itself fails.
 *
 * @throws StateInUse if another process holds it
 */
export async function lockState(directory: string, log: Log): Promise<boolean> {
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const file = await open(join(directory, 'agent.lock'), 'a', 0o600);
    held.push(file);
    if (await lock(file)) return true;
  } catch (error) {
    // A lock that fails, for example on a full or read-only disk, must not stop the agent.
    log.error('State directory not locked', { reason: reasonOf(error) });
    return false;
  }
  throw new StateInUse(`Another agent uses ${directory}.`);
}

/**
 * Node has no flock(2). The program of util-linux and of busybox locks the open file that it
 * inherits, and the lock stays with this process, which has the same open file. False if another
 * process has the lock.
 */
async function lock({ fd }: FileHandle): Promise<boolean> {
  const program = spawn('flock', ['-n', '3'], {
    env: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin' },
    stdio: ['ignore', 'ignore', 'ignore', fd],
  });
  const [code] = await once(program, 'exit');
  if (code !== 0 && code !== 1) throw new Error(`flock ended with ${code}`);
  return code === 0;
}
