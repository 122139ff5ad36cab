// A circuit breaker: after some failures in a row the service behind it is not asked for a while.
// Each call would hold its execution until the time limit, and a service that is overloaded
// recovers sooner without the calls.

interface CircuitBreakerOptions {
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Failures in a row that open the circuit. */
  readonly failuresMax: number;
  /** How long the circuit is open at first; each failed probe doubles it, up to the longest. */
  readonly openMs: number;
  readonly openMsMax: number;
  /** 0 ≤ x < 1; shortens the time by up to half, so that containers do not probe all at once. */
  readonly random: () => number;
  /** Other errors than failures leave the circuit as it is. */
  readonly isFailure: (error: unknown) => boolean;
  /** The error of a call that is refused while the circuit is open. */
  readonly refusal: (waitMs: number) => Error;
  readonly onOpen?: (waitMs: number) => void;
  readonly onClose?: () => void;
}

export type CircuitBreaker = <T>(call: () => Promise<T>) => Promise<T>;

/**
 * Closed, the breaker passes calls on. Open, it refuses them. Then one call at a time is a probe.
 */
export function createCircuitBreaker(options: CircuitBreakerOptions): CircuitBreaker {
  const { clock, failuresMax } = options;
  let failures = 0;
  let openMs = 0;
  let openUntil = 0;
  let isProbing = false;

  function succeeded(): void {
    failures = 0;
    if (openMs === 0) return;
    openMs = 0;
    options.onClose?.();
  }

  function failed(isProbe: boolean): void {
    failures += 1;
    // A call that began before the circuit opened does not change it.
    if (failures < failuresMax || (openMs > 0 && !isProbe)) return;
    openMs = openMs === 0 ? options.openMs : Math.min(openMs * 2, options.openMsMax);
    const waitMs = Math.ceil(openMs * (1 - options.random() / 2));
    openUntil = clock() + waitMs;
    options.onOpen?.(waitMs);
  }

  return async (call) => {
    const isProbe = openMs > 0;
    if (isProbe) {
      const waitMs = openUntil - clock();
      if (waitMs > 0 || isProbing) throw options.refusal(Math.max(waitMs, 0));
      isProbing = true;
    }
    try {
      const result = await call();
      succeeded();
      return result;
    } catch (error) {
      if (options.isFailure(error)) failed(isProbe);
      throw error;
    } finally {
      if (isProbe) isProbing = false;
    }
  };
}
