// Sockets of the local engines: all on loopback, none silently shared with another program.

import { createServer, type Server } from 'node:net';

/** What every start function gives back, with the engine's address beside it. */
export interface Running {
  /** Resolves when the engine has ended and its port is free again. May be called twice. */
  stop(): Promise<void>;
}

/** The message is one line, fit to be all that a user sees. */
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
  /** 0 for one that is free. */
  readonly port: number;
  readonly host: string;
  /** Environment variable that chooses the port; named when the port is taken. */
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

// Below the ports that a system takes for its outgoing connections (32768 on Linux, 49152 on macOS).
// Had an engine one of those, then while it is down a client that tries to reach it could be given the
// very port it calls, and the engine could not come back.
const firstFreePort = 16_384;
const lastFreePort = 32_767;
/** Each process begins somewhere else: two that look at the same time find different ones. */
let nextFreePort = firstFreePort + ((process.pid * 64) % (lastFreePort - firstFreePort));

/**
 * A port that nobody listens on now, for an engine in a process of its own, which cannot tell us
 * which it got; it stays good for an engine that is started again. @throws PortTaken
 */
export async function freePort(options: ListenOptions): Promise<number> {
  if (options.port !== 0) return probe(options);
  for (let tries = firstFreePort; tries < lastFreePort; tries += 1) {
    const port = nextFreePort;
    nextFreePort = port === lastFreePort ? firstFreePort : port + 1;
    try {
      return await probe({ ...options, port });
    } catch (error) {
      if (!(error instanceof PortTaken)) throw error;
    }
  }
  throw new Error(`All ports from ${firstFreePort} to ${lastFreePort} are in use.`);
}

async function probe(options: ListenOptions): Promise<number> {
  const server = createServer();
  const port = await listen(server, options);
  await new Promise((resolve) => server.close(resolve));
  return port;
}
