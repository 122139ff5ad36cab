// Limits of requests count the time that the process runs. Where the machine does not run it for
// seconds, it would otherwise meet its own timers before the answers that have come meanwhile, and
// a service in the same process would look as if it were away.

const tickMs = 50;
const { setTimeout: wait, setInterval: repeat, performance } = globalThis;

let ranMs = 0;

/** Once in a process, which runs this anew before each file. */
export function countProcessTime(): void {
  if (AbortSignal.timeout.name === processTimeout.name) return;
  let lookedAt = performance.now();
  repeat(() => {
    const now = performance.now();
    ranMs += Math.min(Math.max(now - lookedAt, 0), 2 * tickMs);
    lookedAt = now;
  }, tickMs).unref();
  AbortSignal.timeout = processTimeout;
}

function processTimeout(limitMs: number): AbortSignal {
  const controller = new AbortController();
  const dueMs = ranMs + limitMs;
  const look = () => {
    const leftMs = dueMs - ranMs;
    if (leftMs > 0) wait(look, Math.max(leftMs, tickMs)).unref();
    else controller.abort(new DOMException('The operation timed out.', 'TimeoutError'));
  };
  wait(look, limitMs).unref();
  return controller.signal;
}
