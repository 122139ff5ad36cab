// Locks the state directory for one agent. A second agent, for example started by hand beside the
// service, would run the same jobs on the same devices and overwrite the files of the first.
//
// The lock is a socket, which the kernel closes however its process ends: a dead agent leaves no
// stale lock, and no reused process id is mistaken for an agent.

import { once } from 'node:events';
import { mkdir, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { type Log, reasonOf } from './log.ts';

/** The message is for the operator who started the second agent. */
export class StateInUse extends Error {
  override readonly name = 'StateInUse';
}

/**
 * Holds the directory until this process ends. False if the lock itself fails.
 *
 * @throws StateInUse if another process holds it
 */
export async function lockState(directory: string, log: Log): Promise<boolean> {
  const path = join(directory, 'agent.sock');
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    if (await isAnswered(path)) throw new StateInUse(`Another agent uses ${directory}.`);
    await rm(path, { force: true });
    const server = createServer((socket) => socket.destroy());
    server.listen(path);
    await once(server, 'listening');
    server.unref();
    return true;
  } catch (error) {
    if (error instanceof StateInUse) throw error;
    // A lock that fails, for example on a full or read-only disk, must not stop the agent.
    log.error('State directory not locked', { reason: reasonOf(error) });
    return false;
  }
}

async function isAnswered(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
