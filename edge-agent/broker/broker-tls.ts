// How TLS to the broker is opened: for the agent's session, and for the command that examines the
// connection without one.

import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { openTunnel } from './tunnel.ts';

/** A broker that refuses the client may not answer at all, so the wait is limited. */
export const connectMsMax = 20_000;

export interface BrokerOptions {
  readonly host: string;
  readonly port: number;
  readonly certificateFile: string;
  readonly keyFile: string;
  /** PEM, in place of the two files. */
  readonly identity?: { readonly certificate: string; readonly key: string };
  /** Without it, the public authorities that Node trusts, which include Amazon's. */
  readonly authorityFile?: string;
  /** URL of an HTTP proxy, if the broker is reached only through one. */
  readonly proxy?: string;
}

/**
 * Reads the files anew, so that they can be rotated, and opens the tunnel of the proxy.
 *
 * @param limits ends the wait for the tunnel
 */
export async function brokerTls(options: BrokerOptions, limits: AbortSignal) {
  const { host, port, certificateFile, keyFile, identity, authorityFile, proxy } = options;
  return {
    host,
    port,
    ...(isIP(host) === 0 && { servername: host }),
    cert: identity?.certificate ?? (await readFile(certificateFile)),
    key: identity?.key ?? (await readFile(keyFile)),
    ...(authorityFile && { ca: await readFile(authorityFile) }),
    rejectUnauthorized: true,
    // On port 443 AWS recognizes MQTT by this ALPN name.
    ...(port === 443 && { ALPNProtocols: ['x-amzn-mqtt-ca'] }),
    // Last, because no step may fail once the tunnel is open.
    ...(proxy && { socket: await openTunnel(proxy, { host, port }, limits) }),
  };
}
