// Sockets of the local engines: all on loopback, none shared with another program.

import type { Server as HttpServer } from 'node:http';
import { createServer, isIPv6, type Server } from 'node:net';

/** The result of every start function, together with the engine's address. */
export interface Running {
  /** Resolves when the engine has ended and its port is free. May be called twice. */
  stop(): Promise<void>;
}

/** An engine that serves HTTP. */
export interface HttpEngine extends Running {
  readonly url: string;
  readonly port: number;
}

/** The message is one line for the user. */
export class PortTaken extends Error {
  override readonly name = 'PortTaken';
  readonly port: number;

  constructor(port: number, variable?: string) {
    const remedy =
      variable === undefined ? 'choose another port' : `set ${variable} to another one`;
    super(`Port ${port} is in use by another program: stop it, or ${remedy}.`);
    this.port = port;
  }
}

export interface ListenOptions {
  /** 0 for any free port. */
  readonly port: number;
  readonly host: string;
  /** The variable that chooses the port; named if the port is taken. */
  readonly variable?: string;
}

/** Listens and returns the port. @throws PortTaken */
export function listen(server: Server, options: ListenOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'EADDRINUSE' ? new PortTaken(options.port, options.variable) : error),
    );
    server.listen(options.port, options.host, () => {
      const address = server.address();
      resolve(address !== null && typeof address === 'object' ? address.port : options.port);
    });
  });
}

/** The URL of a server; addresses of IPv6 stand in brackets. */
export function httpUrl(host: string, port: number): string {
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/** Serves HTTP until `stop`, which ends open connections. @throws PortTaken */
export async function serve(server: HttpServer, options: ListenOptions): Promise<HttpEngine> {
  // Longer than a client keeps an idle connection, so that a reused connection is open.
  server.keepAliveTimeout = 65_000;
  const port = await listen(server, options);
  return {
    url: httpUrl(options.host, port),
    port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

// Below the ports that a system uses for outgoing connections (32768 on Linux, 49152 on macOS).
// While an engine on such a port is down, the kernel could give its port to a client that connects
// to it, and the engine could not restart.
const firstFreePort = 16_384;
const blockSize = 64;
const blockCount = 256;

/**
 * Gives ports on which no process listens. They come from blocks, and a listener on the first port
 * holds a block: so no other process of the system takes the port of an engine that is down for a
 * moment, and the kernel frees the block when this process dies. `begin` only spreads processes
 * that start together.
 */
export function createPortGiver(begin: number): (options: ListenOptions) => Promise<number> {
  let block = begin % blockCount;
  let taken = blockSize;

  async function takeBlock(host: string): Promise<void> {
    for (let tries = 0; tries < blockCount; tries += 1) {
      block = (block + 1) % blockCount;
      const door = createServer();
      try {
        await listen(door, { host, port: firstFreePort + block * blockSize });
      } catch (error) {
        if (error instanceof PortTaken) continue;
        throw error;
      }
      door.unref();
      taken = 1;
      return;
    }
    throw new Error(`Every block of ${blockSize} ports from ${firstFreePort} on is in use.`);
  }

  return async (options) => {
    for (;;) {
      if (taken === blockSize) await takeBlock(options.host);
      const port = firstFreePort + block * blockSize + taken;
      taken += 1;
      try {
        return await probe({ ...options, port });
      } catch (error) {
        if (!(error instanceof PortTaken)) throw error;
      }
    }
  };
}

const givePort = createPortGiver(process.pid);

/**
 * A free port for an engine in a process of its own, which cannot tell its port; the port stays
 * reserved for a restart of the engine. @throws PortTaken
 */
export async function freePort(options: ListenOptions): Promise<number> {
  return options.port === 0 ? givePort(options) : probe(options);
}

async function probe(options: ListenOptions): Promise<number> {
  const server = createServer();
  const port = await listen(server, options);
  await new Promise((resolve) => server.close(resolve));
  return port;
}
