// The services' processes. All end with the suite, even after a kill: each has a guard that kills
// it and its whole process group, workers included, when the suite's end of a pipe closes.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Standard input of a background command would be /dev/null, hence fd 3. The guard kills the
 * service by its process id as well as its group: Glance leaves the group.
 */
const guard = `
  exec 3<&0
  "$@" 3<&- </dev/null &
  service=$!
  { read -r _ <&3; kill -9 $service 2>/dev/null; kill -9 0; } &
  wait $service
`;

/** The programs of Python and Debian only, whatever the machine's path is. */
export const environment: Readonly<Record<string, string>> = {
  PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C.UTF-8',
  PYTHONDONTWRITEBYTECODE: '1',
};

export interface Command {
  readonly name: string;
  readonly command: readonly string[];
  readonly variables?: Readonly<Record<string, string>>;
}

export interface Processes {
  start(command: Command): void;
  /** Resolves when it accepts connections. @throws if it ends before */
  listening(name: string, port: number): Promise<void>;
  /** Runs the command to its end. Resolves to its output. @throws Error with its last lines */
  run(command: Command): Promise<string>;
  kill(name: string): Promise<void>;
  stop(): Promise<void>;
}

const listensWithinMs = 120_000;

/** @param directory for the outputs, one file per process */
export function openProcesses(directory: string): Processes {
  const running = new Map<string, ChildProcess>();
  const logFile = (name: string) => join(directory, `${name}.out`);

  function spawnLogged({ name, command, variables }: Command): ChildProcess {
    const log = openSync(logFile(name), 'a');
    const child = spawn('/bin/sh', ['-c', guard, 'sh', ...command], {
      stdio: ['pipe', log, log],
      // In a process group of its own, which is killed as a whole.
      detached: true,
      cwd: directory,
      env: { ...environment, HOME: directory, ...variables },
    });
    child.stdin?.on('error', () => {});
    running.set(name, child);
    // The guard's reader keeps the pipe open until this end closes.
    child.once('exit', () => child.stdin?.destroy());
    return child;
  }

  const lastOf = (name: string) => readFileSync(logFile(name), 'utf8').slice(-3000);

  async function kill(name: string): Promise<void> {
    const child = running.get(name);
    running.delete(name);
    if (!child) return;
    const ended = hasEnded(child) ? undefined : once(child, 'exit');
    child.stdin?.destroy();
    await ended;
  }

  return {
    start: (command) => void spawnLogged(command),

    listening: async (name, port) => {
      const until = performance.now() + listensWithinMs;
      while (!(await accepts(port))) {
        const child = running.get(name);
        if (!child || hasEnded(child)) throw new Error(`${name} has ended:\n${lastOf(name)}`);
        if (performance.now() > until) throw new Error(`${name} is silent:\n${lastOf(name)}`);
        await sleep(50);
      }
    },

    run: async (command) => {
      // A command of this name may have run before; its output is in the same file.
      const before = sizeOf(logFile(command.name));
      const child = spawnLogged(command);
      const [code] = await once(child, 'exit');
      running.delete(command.name);
      if (code !== 0) throw new Error(`${command.name} failed:\n${lastOf(command.name)}`);
      return readFileSync(logFile(command.name)).subarray(before).toString();
    },

    kill,

    stop: async () => {
      // In reverse order: a later process uses earlier ones.
      for (const name of [...running.keys()].reverse()) await kill(name);
    },
  };
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
