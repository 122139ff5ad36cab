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
  /** 0: any free one. */
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

/**
 * A port that nobody listens on now, for an engine in a process of its own, which cannot tell us
 * which it got. @throws PortTaken
 */
export async function freePort(options: ListenOptions): Promise<number> {
  const probe = createServer();
  const port = await listen(probe, options);
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
