// What Nova and Keystone have answered to a viewer's token, kept for five minutes. Answers of one
// viewer are never shown to another: the services decide by the token.

import type { Http } from '#core/clients/http.ts';

export interface Viewer {
  readonly token: string;
  /** The rights of the token follow from its user and project. */
  readonly userId: string;
  readonly projectId: string;
}

const keptMs = 5 * 60_000;
const keptMax = 5000;
/** A screen does without them meanwhile. */
const timeoutMs = 3000;

export function getAs({ token }: Viewer, http: Http, service: 'compute' | 'identity', url: string) {
  return http({ service, method: 'GET', url, headers: { 'X-Auth-Token': token }, timeoutMs });
}

/** @param clock milliseconds since 1970 */
export function keepAnswers<Answer>(clock: () => number) {
  const kept = new Map<string, { readonly answer: Answer; readonly untilMs: number }>();

  /** Undefined where the service does not answer: nothing is kept then. */
  return async (
    subject: readonly string[],
    { userId, projectId }: Viewer,
    read: () => Promise<Answer>,
  ): Promise<Answer | undefined> => {
    const key = JSON.stringify([userId, projectId, ...subject]);
    const earlier = kept.get(key);
    if (earlier && earlier.untilMs > clock()) return earlier.answer;
    try {
      const answer = await read();
      kept.delete(key);
      kept.set(key, { answer, untilMs: clock() + keptMs });
      const [oldest] = kept.keys();
      if (kept.size > keptMax && oldest !== undefined) kept.delete(oldest);
      return answer;
    } catch {
      return undefined;
    }
  };
}
