// One short-lived child process with a time limit. A system call that hangs in the kernel hangs
// in the child, not in the agent, whose thread pool has four threads.

import { spawn } from 'node:child_process';

export interface ChildOptions {
  readonly program: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly limitMs: number;
  /** Bytes of stdout; a child that prints more is killed. */
  readonly outputMax: number;
  /** Called once the process itself has ended, when what it has started may still run. */
  readonly afterExit?: (pid: number) => void;
}

export interface ChildResult {
  /**
   * `late`: killed at its limit. `loud`: killed because it printed too much. `failed`: could not
   * be started, or a signal ended it.
   */
  readonly end: 'exited' | 'late' | 'loud' | 'failed';
  readonly exitCode: number;
  readonly stdout: Buffer;
  /** The first part; the reason if the child could not be started. */
  readonly stderr: string;
}

export interface WatchedChild {
  /** Resolves soon after the limit at the latest, even if the child cannot be killed. */
  readonly result: Promise<ChildResult>;
  /** Resolves when the process no longer exists. */
  readonly gone: Promise<void>;
}

export type StartChild = (options: ChildOptions) => WatchedChild;

const stderrMax = 4096;
/** A killed process ends within milliseconds, unless it hangs in the kernel (state D). */
const killedMs = 500;

export const startChild: StartChild = (options) => {
  const { program, args, environment, stdin, limitMs, outputMax, afterExit } = options;
  const child = spawn(program, args, {
    cwd: '/',
    env: environment,
    // A process group of its own, so that killing reaches what a vendor's tool started.
    detached: true,
    stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  const chunks: Buffer[] = [];
  let printed = 0;
  let complaint = '';
  let end: ChildResult['end'] | undefined;
  let exitCode = -1;

  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  const result = new Promise<ChildResult>((resolve) => {
    const settle = () => {
      clearTimeout(limit);
      for (const stream of child.stdio) stream?.destroy();
      // An abandoned child must not keep the agent from ending.
      child.unref();
      resolve({ end: end ?? 'failed', exitCode, stdout: Buffer.concat(chunks), stderr: complaint });
    };
    const kill = (why: 'late' | 'loud') => {
      if (end !== undefined) return settle();
      end = why;
      killGroup(child.pid);
      const abandon = setTimeout(settle, killedMs);
      gone.then(() => {
        clearTimeout(abandon);
        settle();
      });
    };
    const limit = setTimeout(kill, limitMs, 'late');
    child.once('error', (error: Error) => {
      complaint = error.message;
      settle();
    });
    child.once('exit', (code) => {
      if (end === undefined && code !== null) {
        end = 'exited';
        exitCode = code;
      }
      if (child.pid !== undefined) afterExit?.(child.pid);
    });
    // A grandchild may keep the pipes open after the exit; the limit ends that wait, too.
    child.once('close', settle);
    child.stdout?.on('data', (chunk: Buffer) => {
      printed += chunk.length;
      if (printed <= outputMax) chunks.push(chunk);
      // What a killed child has printed still arrives.
      else if (end !== 'loud') kill('loud');
    });
    child.stderr?.on('data', (chunk: Buffer) => {
      complaint = (complaint + chunk.toString('latin1')).slice(0, stderrMax);
    });
  });
  // The child may end without reading.
  child.stdin?.on('error', () => {});
  child.stdin?.end(stdin);
  return { result, gone };
};

/** @returns whether anything of it was still there */
export function killGroup(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  try {
    process.kill(-pid, 'SIGKILL');
    return true;
  } catch {
    // It has ended meanwhile.
    return false;
  }
}
