// A tunnel through an HTTP proxy (CONNECT, RFC 9110 §9.3.6), for hosts without direct access. The
// tunneled traffic is TLS, which the proxy cannot read. The proxy also resolves the name.

import { request } from 'node:http';
import type { Socket } from 'node:net';

/** @param proxy such as `http://user:password@proxy.example:3128` */
export function openTunnel(
  proxy: string,
  target: { readonly host: string; readonly port: number },
  signal: AbortSignal,
): Promise<Socket> {
  const { hostname, port, username, password } = new URL(proxy);
  const host = target.host.includes(':') ? `[${target.host}]` : target.host;
  const authority = `${host}:${target.port}`;
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return new Promise((resolve, reject) => {
    const asking = request({
      method: 'CONNECT',
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port || 80,
      path: authority,
      agent: false,
      signal,
      headers: {
        host: authority,
        ...(username && {
          'proxy-authorization': `Basic ${Buffer.from(credentials).toString('base64')}`,
        }),
      },
    });
    asking.once('connect', ({ statusCode }, socket: Socket, head: Buffer) => {
      if (statusCode !== 200) {
        socket.destroy();
        reject(new Error(`proxy ${hostname} refuses ${authority}: status ${statusCode}`));
        return;
      }
      // Bytes after the proxy's answer belong to the tunneled protocol, which checks them.
      if (head.length > 0) socket.unshift(head);
      resolve(socket);
    });
    asking.once('response', (response) => {
      response.destroy();
      reject(new Error(`proxy ${hostname} refuses ${authority}: status ${response.statusCode}`));
    });
    asking.once('error', (error) => reject(new Error(`proxy ${hostname}: ${error.message}`)));
    asking.end();
  });
}
