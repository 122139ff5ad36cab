// The API as the screens ask it: at the page's own origin, with the token of the session.

import { parseJson } from '#core/shapes/derive/parse-json.ts';
import { present } from '#core/shapes/derive/present.ts';
import { ApiFailure, toFailure } from './failure.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Query = Readonly<Record<string, string | number | undefined>>;

export interface Sent {
  readonly query?: Query;
  readonly body?: unknown;
  /** Refused with 412 unless the object still has this revision. */
  readonly revision?: number;
  readonly signal?: AbortSignal;
}

export interface Api {
  /** @throws ApiFailure */
  ask<T>(method: Method, path: string, sent?: Sent): Promise<T>;
}

interface ApiOptions {
  readonly fetch: typeof fetch;
  /** Undefined before the sign-in. */
  readonly token: () => string | undefined;
  /** The API does not accept the token any more. */
  readonly onSignedOut: () => void;
}

/** Cyborg's API at 2.0 answers 401 where a role is missing; later versions say 403. */
const microversion = 'accelerator 2.3';

/** The gateway ends a request after 30 s. */
const answerMsMax = 35_000;

export function createApi({ fetch: send, token, onSignedOut }: ApiOptions): Api {
  return {
    async ask<T>(method: Method, path: string, { query = {}, body, revision, signal }: Sent = {}) {
      const sessionToken = token();
      const limit = AbortSignal.timeout(answerMsMax);
      const answer = await exchange(() =>
        send(`${path}${queryText(query)}`, {
          method,
          headers: {
            'OpenStack-API-Version': microversion,
            ...present({ 'X-Auth-Token': sessionToken }),
            ...(body !== undefined && { 'Content-Type': 'application/json' }),
            ...(revision !== undefined && { 'If-Match': `"${revision}"` }),
          },
          ...present({ body: JSON.stringify(body) as string | undefined }),
          signal: signal ? AbortSignal.any([signal, limit]) : limit,
        }),
      );
      if (answer.status >= 400) {
        const failure = toFailure(answer.status, answer.body);
        // A token that was replaced meanwhile says nothing of the new one.
        if (
          failure.kind === 'signed-out' &&
          sessionToken !== undefined &&
          sessionToken === token()
        ) {
          onSignedOut();
        }
        throw failure;
      }
      return answer.body as T;
    },
  };
}

async function exchange(send: () => Promise<Response>): Promise<{ status: number; body: unknown }> {
  let response: Response;
  let text: string;
  try {
    response = await send();
    text = await response.text();
  } catch (error) {
    const isLate = error instanceof DOMException && error.name === 'TimeoutError';
    const why = isLate ? 'did not answer in time' : 'cannot be reached';
    throw new ApiFailure('unreachable', `The API ${why}.`);
  }
  if (text === '') return { status: response.status, body: undefined };
  const body = parseJson(text);
  if (body === undefined && response.status < 400) {
    throw new ApiFailure('unavailable', 'The answer is not that of the API: it is not JSON.');
  }
  return { status: response.status, body };
}

function queryText(query: Query): string {
  const parameters = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  );
  return parameters.length === 0 ? '' : `?${new URLSearchParams(parameters)}`;
}
