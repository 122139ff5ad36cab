// HTTP requests to the system's own ports. Not by fetch: it refuses port 6666, Cyborg's own.
// https://fetch.spec.whatwg.org/#port-blocking

import http from 'node:http';
import https from 'node:https';
import { text as readText } from 'node:stream/consumers';

export interface HttpCall {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
}

export interface HttpAnswer {
  readonly status: number;
  readonly text: string;
}

const answerMsMax = 60_000;

/** @throws where no answer comes within a minute */
export async function send({ method, url, headers, body }: HttpCall): Promise<HttpAnswer> {
  const sent = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  const entity = sent && { 'Content-Type': 'application/json', 'Content-Length': sent.length };
  const open = url.startsWith('https:') ? https.request : http.request;
  const request = open(url, {
    method,
    headers: { ...headers, ...entity },
    signal: AbortSignal.timeout(answerMsMax),
  });
  const answered = new Promise<http.IncomingMessage>((resolve, reject) => {
    request.on('response', resolve).on('error', reject);
  });
  request.end(sent);
  const response = await answered;
  return { status: response.statusCode ?? 0, text: await readText(response) };
}
