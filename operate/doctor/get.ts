import { get as overHttp } from 'node:http';
import { get as overHttps } from 'node:https';
import type { Fetch } from '#core/clients/http.ts';

/**
 * GET, as with `fetch`, but also to ports that `fetch` refuses, such as 6666, Cyborg's own.
 * https://fetch.spec.whatwg.org/#port-blocking
 */
export const get: Fetch = (url, { headers, signal }) =>
  new Promise((resolve, reject) => {
    const ask = url.startsWith('https:') ? overHttps : overHttp;
    const options = {
      headers: Object.fromEntries(new Headers(headers)),
      ...(signal && { signal }),
    };
    ask(url, options, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () => {
        const { statusCode: status = 0, headersDistinct } = answer;
        const given = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
          values.map((value): [string, string] => [name, value]),
        );
        const isEmpty = chunks.length === 0;
        resolve(new Response(isEmpty ? null : Buffer.concat(chunks), { status, headers: given }));
      });
    }).on('error', reject);
  });
