// Where tests keep their temporary files: in memory, if the machine has room for them there. Most
// of them are files that the agent and the engines write durably, which takes a disk a hundred
// times as long. TMPDIR in the environment of the run says otherwise.

import { execFileSync } from 'node:child_process';
import {
  accessSync,
  constants,
  mkdirSync,
  readdirSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const memory = '/dev/shm';
const prefix = 'cyborg-tests-';
/** A run needs some hundred megabytes. */
const freeBytesMin = 4 * 1024 ** 3;

let directory: string | undefined;

/** Runs before the workers of vitest start, which inherit the environment. */
export function setup(): void {
  if (process.env.TMPDIR === undefined && hasRoom()) {
    removeLeftovers();
    directory = join(memory, `${prefix}${process.pid}`);
    mkdirSync(directory, { mode: 0o700 });
    if (canExecute(directory)) process.env.TMPDIR = directory;
  }
  // Programs that tests start take half the time with what Node has compiled before.
  process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'cyborg-tests-compiled');
}

/** A worker that ends writes what Node has compiled, also while its directory is removed. */
export function teardown(): void {
  if (directory === undefined) return;
  rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}

function hasRoom(): boolean {
  try {
    accessSync(memory, constants.W_OK);
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize >= freeBytesMin;
  } catch {
    return false;
  }
}

/** Killed runs leave them. */
function removeLeftovers(): void {
  for (const name of readdirSync(memory).filter((each) => each.startsWith(prefix))) {
    if (!isRunning(Number(name.slice(prefix.length)))) {
      rmSync(join(memory, name), { recursive: true, force: true });
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Some tests start programs that they have written; a machine may forbid this there. */
function canExecute(place: string): boolean {
  const program = join(place, 'program');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o700 });
  try {
    execFileSync(program);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(program);
  }
}
