// Cyborg's API and the operator API beside it, for the verbs.

import * as z from 'zod';
import { type Http, type HttpAnswer, type Method, readBody } from '#core/clients/http.ts';
import { pageMax } from '#core/contracts/api/lists/list-routes.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import { present } from '#core/shapes/derive/present.ts';
import { CommandFailed, exitCodes } from './verb.ts';

/** The service's endpoint, and the token of the user. */
export interface Session {
  readonly endpoint: string;
  readonly token: string;
}

export type Query = Readonly<Record<string, string | undefined>>;

export interface Api {
  /** @throws CommandFailed, ServiceUnavailable */
  ask<T>(method: Method, path: string, schema: z.ZodType<T>, sent?: Sent): Promise<T>;
  /** All pages as one document. @param limit the most rows; all without it */
  list<Row>(
    path: string,
    collection: string,
    row: z.ZodType<Row>,
    listing: Listing,
  ): Promise<Row[]>;
}

export interface Sent {
  readonly query?: Query;
  readonly body?: unknown;
  /** The media type, where the answer is not JSON. */
  readonly accept?: string;
  /** Refused with 412 unless the object still has this revision. */
  readonly revision?: number;
}

export interface Listing {
  readonly query: Query;
  readonly limit: string | undefined;
}

const service = 'accelerator';

/** @param renew signs in again, when the token has expired; without it the verb ends then */
export function createApi(http: Http, session: Session, renew?: () => Promise<Session>): Api {
  const root = toRoot(session.endpoint);
  let { token } = session;
  let hasWorked = false;

  async function ask<T>(
    method: Method,
    path: string,
    schema: z.ZodType<T>,
    sent: Sent = {},
  ): Promise<T> {
    const url = `${root}${path}${queryText(sent.query ?? {})}`;
    const request = {
      service,
      method,
      url,
      headers: {
        'X-Auth-Token': token,
        ...present({ Accept: sent.accept }),
        ...(sent.revision !== undefined && { 'If-Match': `"${sent.revision}"` }),
      },
      ...present({ body: sent.body }),
    };
    const answer = await http(request);
    if (answer.status === 401 && hasWorked && renew) {
      const renewed = await renew();
      // Only now: after a failed renewal, the next request of a roll tries again.
      hasWorked = false;
      token = renewed.token;
      return await ask(method, path, schema, sent);
    }
    if (answer.status >= 300) throw refusal(method, url, answer);
    hasWorked = true;
    return readBody(schema, request, answer);
  }

  return {
    ask,
    async list(path, collection, row, { query, limit }) {
      const most = limit === undefined ? Number.POSITIVE_INFINITY : Number(limit);
      const page = z.looseObject({
        [collection]: z.array(row),
        [`${collection}_links`]: z
          .array(z.looseObject({ rel: z.string(), href: z.string() }))
          .optional(),
      });
      const rows: z.infer<typeof row>[] = [];
      let marker: string | undefined;
      do {
        const size = String(Math.min(most - rows.length, pageMax));
        const answer = await ask('GET', path, page, { query: { ...query, limit: size, marker } });
        rows.push(...(answer[collection] as typeof rows));
        const next = readMarker(answer[`${collection}_links`]);
        if (next !== undefined && next === marker) {
          throw new CommandFailed(exitCodes.failed, `${root}${path} links a page to itself.`);
        }
        marker = next;
      } while (marker !== undefined && rows.length < most);
      return rows;
    },
  };
}

/** The catalog has the endpoint with or without the version of Cyborg's API. */
function toRoot(endpoint: string): string {
  return endpoint.replace(/\/+$/, '').replace(/\/v2(\.\d+)?$/, '');
}

function queryText(query: Query): string {
  const parameters = Object.entries(query).filter((pair): pair is [string, string] => !!pair[1]);
  return parameters.length === 0 ? '' : `?${new URLSearchParams(parameters)}`;
}

/** Only the marker: our token goes to no other address than the endpoint's. */
function readMarker(links: unknown): string | undefined {
  const read = z.array(z.looseObject({ rel: z.string(), href: z.string() })).safeParse(links);
  const next = read.data?.find(({ rel }) => rel === 'next')?.href;
  return new URL(next ?? '', 'http://endpoint').searchParams.get('marker') ?? undefined;
}

const errorBody = z.looseObject({ error: z.string() });
const faultBody = z.looseObject({ error_message: z.string() });
const fault = z.object({ faultstring: z.string() });

function refusal(method: Method, url: string, { status, body }: HttpAnswer): CommandFailed {
  const sentence = readSentence(body);
  if (status === 401) {
    const fault = `The accelerator service at ${url} does not accept the token`;
    return new CommandFailed(exitCodes.notAllowed, `${fault}${sentence ? `: ${sentence}` : '.'}`);
  }
  if (sentence === undefined) {
    const fault = `The accelerator service answered ${status} to ${method} ${url}`;
    const why = status === 404 ? ': it may be older than this command' : '';
    const code = status === 403 ? exitCodes.notAllowed : exitCodes.failed;
    return new CommandFailed(code, `${fault}${why}.`);
  }
  return new CommandFailed(status === 403 ? exitCodes.notAllowed : exitCodes.failed, sentence);
}

/** Cyborg's form, JSON inside JSON, or the specification's. */
function readSentence(body: unknown): string | undefined {
  const plain = errorBody.safeParse(body);
  if (plain.success) return plain.data.error;
  const text = faultBody.safeParse(body).data?.error_message;
  return fault.safeParse(parseJson(text)).data?.faultstring ?? text;
}
