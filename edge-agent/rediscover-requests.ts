// Whoever changes a device, or is asked to tell everything, has the agent look and report at once.

export type LookScope = 'changes' | 'everything';

export interface RediscoverRequests {
  /**
   * Resolves when a report that was begun after this call is acknowledged, or to why there is
   * none.
   */
  ask(scope: LookScope): Promise<string | undefined>;
  /** What is asked for now; `done` tells those who asked. Not done, it is there the next time. */
  take(): { readonly scope: LookScope; done(problem: string | undefined): void };
  /** Aborts when something is asked for. */
  asked(): AbortSignal;
}

type Resolve = (problem: string | undefined) => void;

export function createRediscoverRequests(): RediscoverRequests {
  const waiting = new Set<{ readonly scope: LookScope; readonly resolve: Resolve }>();
  let asked = new AbortController();
  return {
    ask: (scope) =>
      new Promise((resolve) => {
        waiting.add({ scope, resolve });
        asked.abort();
      }),
    take: () => {
      const taken = [...waiting];
      asked = new AbortController();
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
    asked: () => asked.signal,
  };
}
