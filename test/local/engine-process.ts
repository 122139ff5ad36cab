// An engine in a process of its own, so that a test can kill it.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export interface EngineProcess {
  /** The first line that the script printed. */
  readonly said: string;
  /** SIGKILL: no handler runs, nothing is flushed. */
  killHard(): Promise<void>;
}

/** Runs TypeScript source as a module; it prints one line when it is ready. */
export async function startProcess(source: string): Promise<EngineProcess> {
  const child = spawn(
    process.execPath,
    ['--input-type=module-typescript', '--no-warnings', '-e', source],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  return { said: await firstLine(child), killHard: () => killHard(child) };
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('No standard output.');
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  return line;
}

async function killHard(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}
