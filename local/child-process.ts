// Engines in processes of their own. An engine always ends with the process that started it: a
// remaining engine would keep its port and its database file from the next start.

import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Runs the engine, and kills it when standard input closes: the kernel closes the pipe even if its
 * writer was killed. Standard input of a background command would be /dev/null, hence fd 3.
 */
const guard = `
  exec 3<&0
  "$@" 3<&- </dev/null &
  engine=$!
  { read -r _ <&3; kill -9 $engine; } 2>/dev/null &
  wait $engine
`;

interface GuardedProcess {
  /** The last 2,000 characters of the engine's standard error. */
  complaint(): string;
  hasEnded(): boolean;
  /** Resolves when the engine has ended, for any reason. */
  readonly ended: Promise<void>;
  /** Kills the engine at once. All engines are crash-safe, so a graceful stop gains nothing. */
  kill(): Promise<void>;
}

export function startGuarded(command: string, args: readonly string[]): GuardedProcess {
  // In a process group of its own, so that Ctrl-C reaches the parent alone, which stops all in
  // order.
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
  // The guard's reader keeps the pipe open until this end closes.
  child.once('exit', () => child.stdin?.destroy());
  return {
    complaint: () => complaint.trim(),
    ended,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    // Kill through the guard, which ends after the kernel has closed the engine's sockets.
    kill: async () => {
      child.stdin?.destroy();
      await ended;
    },
  };
}
