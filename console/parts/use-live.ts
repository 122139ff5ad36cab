// Data of the API for a screen, read again every few seconds while the page is visible. When a
// reading fails, the last data stays, with its time.

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type ApiFailure, asFailure } from '#console/api/failure.ts';
import { RefreshLoop } from '#console/api/refresh.ts';
import type { Session } from '#console/session/session.ts';
import { useSession } from '#console/session/session.ts';
import { present } from '#core/shapes/derive/present.ts';

export interface Live<T> {
  readonly data?: T;
  /** When `data` was read. */
  readonly atMs?: number;
  /** Failure of the last reading. */
  readonly failure?: ApiFailure;
  /** The first reading is on its way; `data` has what is there so far. */
  readonly isFirst: boolean;
  readonly refresh: () => void;
}

export interface Reading<T> {
  readonly session: Session;
  readonly signal: AbortSignal;
  /** Shows what is there so far, unless there is something whole already. */
  readonly show: (soFar: T) => void;
  readonly last: T | undefined;
}

interface Kept<T> {
  readonly data: T;
  readonly atMs: number;
}

interface State<T> {
  readonly key: string;
  readonly kept?: Kept<T>;
  readonly soFar?: T;
  readonly failure?: ApiFailure;
}

const keptMax = 40;

const timers = {
  now: () => Date.now(),
  after: (ms: number, run: () => void) => {
    const id = setTimeout(run, ms);
    return () => clearTimeout(id);
  },
};

interface Timing {
  readonly everyMs: number;
  /** Nothing is read yet: something else comes first. */
  readonly isWaiting?: boolean;
}

/** @param key names the data: another key is another reading */
export function useLive<T>(
  key: string,
  { everyMs, isWaiting = false }: Timing,
  read: (reading: Reading<T>) => Promise<T>,
): Live<T> {
  const session = useSession();
  const latest = useRef(read);
  latest.current = read;
  const loop = useRef<RefreshLoop | undefined>(undefined);
  const [state, setState] = useState<State<T>>({ key });

  useEffect(() => {
    const { cache, connection } = session;
    const ending = new AbortController();
    let kept = cache.get(key) as Kept<T> | undefined;
    setState({ key, ...present({ kept }) });
    if (isWaiting) return undefined;

    async function readOnce(): Promise<boolean> {
      try {
        const data = await latest.current({
          session,
          signal: ending.signal,
          show: (soFar) => setState({ key, soFar, ...present({ kept }) }),
          last: kept?.data,
        });
        if (ending.signal.aborted) return true;
        kept = { data, atMs: Date.now() };
        keep(cache, key, kept);
        setState({ key, kept });
        connection.worked();
        return true;
      } catch (error) {
        if (ending.signal.aborted) return true;
        const failure = asFailure(error);
        setState((before) => ({ ...before, key, failure }));
        if (failure.isPassing) connection.failed(failure, Date.now());
        else connection.worked();
        return false;
      }
    }

    const running = new RefreshLoop({
      everyMs,
      read: readOnce,
      timers,
      onRetryAt: (atMs) => connection.retryAt(atMs, Date.now()),
    });
    loop.current = running;
    const onVisibility = () => running.setVisible(document.visibilityState === 'visible');
    document.addEventListener('visibilitychange', onVisibility);
    const endRetry = connection.onRetry(() => running.now());
    running.start(document.visibilityState === 'visible');
    return () => {
      ending.abort();
      running.stop();
      endRetry();
      document.removeEventListener('visibilitychange', onVisibility);
    };
  }, [session, key, everyMs, isWaiting]);

  const refresh = useCallback(() => loop.current?.now(), []);
  const { kept, soFar, failure } = state.key === key ? state : ({} as Partial<State<T>>);
  const data = kept?.data ?? soFar;
  return {
    ...present({ data, failure, atMs: kept?.atMs }),
    isFirst: !kept && !failure,
    refresh,
  };
}

/** The ones that were read longest ago make room. */
function keep(cache: Map<string, unknown>, key: string, value: unknown): void {
  cache.delete(key);
  cache.set(key, value);
  const [oldest] = cache.keys();
  if (cache.size > keptMax && oldest !== undefined) cache.delete(oldest);
}
