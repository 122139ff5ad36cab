// Notifies systemd that the agent is ready and alive. Node has no datagram sockets of Unix, so
// that systemd's own program sends each message, in a child with a time limit.

import { type StartChild, startChild } from '#agent/hardware/watched-child.ts';
import { type Log, reasonOf } from '#agent/log.ts';

const program = '/usr/bin/systemd-notify';
const limitMs = 10_000;

interface ServiceManagerDeps {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly log: Log;
  readonly start?: StartChild;
}

/** Says that units which wait for the agent may start; then says regularly that it is alive. */
export function announceReady({ environment, pid, log, start = startChild }: ServiceManagerDeps) {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: interval, WATCHDOG_PID: watched } = environment;
  if (!socket) return;
  const send = async (message: string) => {
    const child = { program, limitMs, outputMax: 4096 };
    const sent = start({ ...child, args: [message], environment: { NOTIFY_SOCKET: socket } });
    const { end, exitCode, stderr } = await sent.result;
    if (end === 'exited' && exitCode === 0) return;
    log.warn('systemd not notified', { sent: message, reason: stderr || end });
  };
  const sendOrLog = (message: string) =>
    void send(message).catch((error: unknown) =>
      log.warn('systemd not notified', { sent: message, reason: reasonOf(error) }),
    );
  sendOrLog('--ready');
  const intervalMs = Number(interval) / 1000;
  if (!(intervalMs > 0) || (watched && watched !== String(pid))) return;
  // Twice as often as systemd asks for, as it recommends.
  setInterval(sendOrLog, intervalMs / 2, 'WATCHDOG=1').unref();
}
