// Engines in processes of their own. None outlives the process that started it, however that ended:
// an engine left behind would hold its port and its database file against the next start.

import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Runs the engine, and kills it when standard input closes: the kernel closes the pipe even when
 * its writer was killed. Standard input of a background command would be /dev/null, hence fd 3.
 */
const guard = `
  exec 3<&0
  "$@" 3<&- </dev/null &
  engine=$!
  { read -r _ <&3; kill -9 $engine; } 2>/dev/null &
  wait $engine
`;

export interface GuardedProcess {
  /** What it wrote to standard error, the last 2,000 characters. */
  complaint(): string;
  hasEnded(): boolean;
  /** Resolves when it has, whoever ended it. */
  readonly ended: Promise<void>;
  /** Kills at once. All engines are crash-safe, so there is nothing to be gained by asking. */
  kill(): Promise<void>;
}

export function startGuarded(command: string, args: readonly string[]): GuardedProcess {
  // Of its own process group, so that Ctrl-C in a terminal reaches us alone, and we stop in order.
  const child = spawn('/bin/sh', ['-c', guard, 'sh', command, ...args], {
    stdio: ['pipe', 'ignore', 'pipe'],
    detached: true,
  });
  let complaint = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-2000);
  });
  child.stdin?.on('error', () => {});
  const ended = once(child, 'close').then(
    () => {},
    () => {},
  );
  // The guard's own reader holds on to the pipe until we let go.
  child.once('exit', () => child.stdin?.destroy());
  return {
    complaint: () => complaint.trim(),
    ended,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    // By way of the guard, which ends when the kernel has taken the engine's sockets, too.
    kill: async () => {
      child.stdin?.destroy();
      await ended;
    },
  };
}
