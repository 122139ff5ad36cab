import { Agent as HttpAgent, request as overHttp } from 'node:http';
import { Agent as HttpsAgent, request as overHttps } from 'node:https';
import type { Fetch } from '#core/clients/http.ts';
import { present } from '#core/shapes/derive/present.ts';

export interface Trust {
  /** PEM of the authorities, instead of Node's own. */
  readonly ca?: string | undefined;
  readonly isInsecure?: boolean;
}

/**
 * Like `fetch`, but also to ports that `fetch` refuses, such as 6666, Cyborg's own; with the
 * authorities of a private cloud; and through the proxy that the environment names (Node 24.5).
 * https://fetch.spec.whatwg.org/#port-blocking
 */
export function createFetch({ ca, isInsecure = false }: Trust = {}): Fetch {
  const proxy = { proxyEnv: process.env };
  const http = new HttpAgent(proxy);
  const https = new HttpsAgent({
    ...proxy,
    ...present({ ca }),
    rejectUnauthorized: !isInsecure,
  });
  return (url, { method = 'GET', headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const isSecure = url.startsWith('https:');
      const send = isSecure ? overHttps : overHttp;
      const options = {
        method,
        agent: isSecure ? https : http,
        headers: Object.fromEntries(new Headers(headers)),
        ...present({ signal: signal ?? undefined }),
      };
      const request = send(url, options, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('error', reject);
        answer.on('end', () => {
          const { statusCode: status = 0, headersDistinct } = answer;
          const received = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
            values.map((value): [string, string] => [name, value]),
          );
          const isEmpty = chunks.length === 0;
          resolve(
            new Response(isEmpty ? null : Buffer.concat(chunks), { status, headers: received }),
          );
        });
      });
      request.on('error', (error) => reject(explained(error)));
      request.end(typeof body === 'string' ? body : undefined);
    });
}

/** The reason where `fetch` has it: in the cause. A timeout stays as it is. */
function explained(error: Error): Error {
  return error.name === 'AbortError' && error.cause instanceof Error
    ? error.cause
    : Object.assign(new Error(error.message, { cause: error }), { name: error.name });
}
