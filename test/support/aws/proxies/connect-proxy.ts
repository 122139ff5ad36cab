// A fake HTTP proxy that connects every CONNECT request to one port, and records the requests.

import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

export interface ConnectProxy {
  readonly port: number;
  readonly asked: { readonly target: string; readonly authorization: string | undefined }[];
  stop(): Promise<void>;
}

/** @param port on this machine @param refusal status instead of a connection */
export async function startConnectProxy(port: number, refusal?: number): Promise<ConnectProxy> {
  const asked: ConnectProxy['asked'] = [];
  const sockets = new Set<Socket>();
  const server = createServer((_request, response) => response.writeHead(405).end());
  server.on('connect', ({ url = '', headers }, client: Socket) => {
    asked.push({ target: url, authorization: headers['proxy-authorization'] });
    if (refusal !== undefined) return client.end(`HTTP/1.1 ${refusal} No\r\n\r\n`);
    const upstream = connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      client.pipe(upstream).pipe(client);
    });
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.once('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
    return undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
