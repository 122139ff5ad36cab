// A proxy between the system and an engine that counts requests. It asks DynamoDB for the consumed
// capacity of each request, so that the product needs no switch for it.

import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { listen, type Running } from '#local/ports.ts';

export interface Exchange {
  /** AWS's name of the action, such as `TransactWriteItems`. */
  readonly action: string;
  readonly asked: Readonly<Record<string, unknown>>;
  /** Empty if the service refused the request. */
  readonly answered: Readonly<Record<string, unknown>>;
}

export interface CountingProxy extends Running {
  readonly url: string;
}

export interface CountingProxyOptions {
  /** Without a target, every request is refused and counted. */
  readonly target?: string;
  readonly alter?: (asked: Record<string, unknown>) => Record<string, unknown>;
  readonly onExchange: (exchange: Exchange) => void;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

const refusal: Answer = { status: 503, headers: {}, body: Buffer.from('{}') };

export async function startCountingProxy(options: CountingProxyOptions): Promise<CountingProxy> {
  const { target, alter = (asked) => asked, onExchange } = options;
  const agent = new Agent({ keepAlive: true });
  const server = createServer((incoming, outgoing) => {
    forward(incoming, outgoing).catch(() => outgoing.destroy());
  });

  async function forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const asked = alter(parse(await bytesOf(incoming)));
    const body = Buffer.from(JSON.stringify(asked));
    const answer =
      target === undefined ? refusal : await exchange(target, incoming, outgoing, body);
    const answered = answer.status < 300 ? parse(answer.body) : {};
    onExchange({ action: actionOf(incoming), asked, answered });
    outgoing.writeHead(answer.status, answer.headers);
    outgoing.end(answer.body);
  }

  function exchange(
    to: string,
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    body: Buffer,
  ): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const headers = {
        ...incoming.headers,
        host: new URL(to).host,
        'content-length': String(body.length),
      };
      const upstream = request(`${to}${incoming.url}`, { method: 'POST', headers, agent });
      upstream.on('response', (answer) => {
        const { 'transfer-encoding': _, ...kept } = answer.headers;
        bytesOf(answer).then(
          (bytes) => resolve({ status: answer.statusCode ?? 502, headers: kept, body: bytes }),
          reject,
        );
      });
      upstream.on('error', reject);
      // End the request of a poller that was killed.
      outgoing.once('close', () => upstream.destroy());
      upstream.end(body);
    });
  }

  const port = await listen(server, { host: '127.0.0.1', port: 0 });
  return {
    url: `http://127.0.0.1:${port}`,
    stop: async () => {
      agent.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function bytesOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function parse(body: Buffer): Record<string, unknown> {
  return body.length === 0 ? {} : (JSON.parse(body.toString()) as Record<string, unknown>);
}

function actionOf(incoming: IncomingMessage): string {
  const target = String(incoming.headers['x-amz-target'] ?? '');
  return target.split('.').at(-1) || `${incoming.method} ${incoming.url}`;
}
