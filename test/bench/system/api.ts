// The API client of the bench. Global fetch refuses port 6666, on which Cyborg listens. Like Nova,
// it keeps connections open.

import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';

export interface ApiTarget {
  /** Ends with `/accelerator/v2`. */
  readonly url: string;
  readonly token: string;
  readonly serviceToken?: string;
}

export interface Answer {
  readonly status: number;
  readonly text: string;
  /** From the first byte of the request to the last byte of the answer. */
  readonly ms: number;
}

export interface Api {
  ask(method: string, path: string, body?: unknown): Promise<Answer>;
  close(): void;
}

/** Deployed Cyborg takes minutes for some answers if many ARQs are stored. */
const timeoutMs = 120_000;

export function createApi({ url, token, serviceToken }: ApiTarget): Api {
  const isPlain = new URL(url).protocol === 'http:';
  const agent = isPlain ? new HttpAgent({ keepAlive: true }) : new HttpsAgent({ keepAlive: true });
  const start = isPlain ? httpRequest : httpsRequest;
  return {
    ask: (method, path, body) => {
      const text = body === undefined ? '' : JSON.stringify(body);
      const headers = {
        Accept: 'application/json',
        'X-Auth-Token': token,
        ...(serviceToken !== undefined && { 'X-Service-Token': serviceToken }),
        ...(body !== undefined && {
          'Content-Type': 'application/json',
          'Content-Length': String(Buffer.byteLength(text)),
        }),
      };
      return new Promise((resolve, reject) => {
        const startedAt = performance.now();
        const asked = start(`${url}${path}`, { method, headers, agent, timeout: timeoutMs });
        asked.on('timeout', () => asked.destroy(new Error(`No answer in ${timeoutMs} ms.`)));
        asked.on('error', reject);
        asked.on('response', (answer: IncomingMessage) => {
          let received = '';
          answer.setEncoding('utf8').on('data', (chunk: string) => {
            received += chunk;
          });
          answer.on('error', reject);
          answer.on('end', () => {
            const ms = performance.now() - startedAt;
            resolve({ status: answer.statusCode ?? 0, text: received, ms });
          });
        });
        asked.end(text);
      });
    },
    close: () => agent.destroy(),
  };
}

/** @throws Error naming the request, if the answer has another status */
export async function expectAnswer(
  api: Api,
  wanted: number,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer> {
  const answer = await api.ask(method, path, body);
  if (answer.status === wanted) return answer;
  const said = answer.text.slice(0, 300);
  throw new Error(`${method} ${path} answered ${answer.status}, not ${wanted}: ${said}`);
}
