// Which values of `Host` a server without authentication accepts. A browser sends the name of the
// page, so a page whose name was made to lead to this server (DNS rebinding) sends a name that is
// not the server's.

import { isIP } from 'node:net';
import { hostname } from 'node:os';

const anyAddress = ['0.0.0.0', '::'];

/**
 * Whether the header names the listened address, an IP address, `localhost` or, where the server
 * listens on all addresses, this machine. HTTP/1.0 has no such header, and no browser speaks it.
 *
 * @param listened the host that the server listens on, without its port
 */
export function namesServer(header: string | undefined, listened: string): boolean {
  if (header === undefined) return true;
  const [, v6, name = v6 ?? ''] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(header) ?? [];
  const requested = name.toLowerCase();
  if (isIP(requested) > 0 || requested === 'localhost' || requested === listened.toLowerCase())
    return true;
  const own = hostname().toLowerCase();
  return anyAddress.includes(listened) && (requested === own || requested.startsWith(`${own}.`));
}
