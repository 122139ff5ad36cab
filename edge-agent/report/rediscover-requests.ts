// Requests for a discovery and report at once, from jobs that changed a device or rediscover all.

type LookScope = 'changes' | 'everything';

export interface RediscoverRequests {
  /**
   * Resolves when a report that began after this call is acknowledged, with the reason if it was
   * not sent.
   */
  ask(scope: LookScope): Promise<string | undefined>;
  /**
   * The pending request; `done` answers its callers. If `done` is not called, the request stays.
   */
  take(): { readonly scope: LookScope; done(problem: string | undefined): void };
  /** Aborts when a request arrives. */
  request(): AbortSignal;
}

type Resolve = (problem: string | undefined) => void;

export function createRediscoverRequests(): RediscoverRequests {
  const waiting = new Set<{ readonly scope: LookScope; readonly resolve: Resolve }>();
  let request = new AbortController();
  return {
    ask: (scope) =>
      new Promise((resolve) => {
        waiting.add({ scope, resolve });
        request.abort();
      }),
    take: () => {
      const taken = [...waiting];
      request = new AbortController();
      return {
        scope: taken.some(({ scope }) => scope === 'everything') ? 'everything' : 'changes',
        done: (problem) => {
          for (const each of taken) {
            waiting.delete(each);
            each.resolve(problem);
          }
        },
      };
    },
    request: () => request.signal,
  };
}
