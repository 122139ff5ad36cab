// A proxy between the system's processes and a service, at which a test can act on a named
// request: before the service gets it, or after the service has answered and before the caller
// gets the answer.

import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { listen, type Running } from '#local/ports.ts';

export interface Call {
  /** For instance `DynamoDB TransactWriteItems`, `SQS DeleteMessage`, `Nova POST`. */
  readonly name: string;
  readonly phase: 'before' | 'after';
}

export interface FaultProxy extends Running {
  readonly url: string;
}

export type CallListener = (call: Call) => Promise<void> | void;

export async function startFaultProxy(
  service: string,
  target: string,
  onCall: CallListener,
): Promise<FaultProxy> {
  const agent = new Agent({ keepAlive: true });
  const server = createServer((incoming, outgoing) => {
    forward(incoming, outgoing).catch(() => outgoing.destroy());
  });

  async function forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const name = `${service} ${actionOf(incoming)}`;
    await onCall({ name, phase: 'before' });
    const answer = await exchange(incoming, Buffer.concat(chunks));
    await onCall({ name, phase: 'after' });
    outgoing.writeHead(answer.status, answer.headers);
    outgoing.end(answer.body);
  }

  function exchange(incoming: IncomingMessage, body: Buffer) {
    type Exchanged = { status: number; headers: IncomingMessage['headers']; body: Buffer };
    return new Promise<Exchanged>((resolve, reject) => {
      const headers = { ...incoming.headers, host: new URL(target).host };
      const options = { method: incoming.method, headers, agent };
      const upstream = request(`${target}${incoming.url}`, options, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('error', reject);
        answer.on('end', () => {
          const { 'transfer-encoding': _, ...kept } = answer.headers;
          resolve({ status: answer.statusCode ?? 502, headers: kept, body: Buffer.concat(chunks) });
        });
      });
      upstream.on('error', reject);
      // End the request of a caller that was killed.
      const abandon = () => upstream.destroy();
      incoming.socket.once('close', abandon);
      upstream.once('close', () => incoming.socket.off('close', abandon));
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

/** AWS names the action in a header; for other services the method is enough. */
function actionOf(incoming: IncomingMessage): string {
  const target = incoming.headers['x-amz-target'];
  return typeof target === 'string'
    ? (target.split('.').at(-1) ?? target)
    : (incoming.method ?? '');
}
