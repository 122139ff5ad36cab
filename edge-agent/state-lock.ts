// One agent works with one state directory. A second, started by hand beside the service say,
// would do the same jobs on the same devices, and each would write over what the other keeps.
//
// A socket says so, since the kernel ends it with its process, however that ends: what a dead
// agent has left is in nobody's way, and no number of a process is taken for another's.

import { once } from 'node:events';
import { mkdir, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { type Log, reasonOf } from './log.ts';

/** The message is for the operator who started the second agent. */
export class StateInUse extends Error {
  override readonly name = 'StateInUse';
}

/** Holds the directory until this process ends. @throws StateInUse while another does */
export async function lockState(directory: string, log: Log): Promise<void> {
  const path = join(directory, 'agent.sock');
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    if (await isAnswered(path)) throw new StateInUse(`Another agent works with ${directory}.`);
    await rm(path, { force: true });
    const server = createServer((socket) => socket.destroy());
    server.listen(path);
    await once(server, 'listening');
    server.unref();
  } catch (error) {
    if (error instanceof StateInUse) throw error;
    // As with a disk that is full or read-only: it must not silence the host.
    log.error('The state directory could not be locked.', { reason: reasonOf(error) });
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
