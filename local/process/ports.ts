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
const blockSize = 64;
const blockCount = 256;

/**
 * Gives ports that nobody listens on. They come from blocks, and a block is held by listening on its
 * first port: so no other process of ours takes the port of an engine that is down for a moment, and
 * the kernel gives the block back when we die. `begin` only spreads those that look at the same time.
 */
export function createPortGiver(begin: number): (options: ListenOptions) => Promise<number> {
  let block = begin % blockCount;
  let given = blockSize;

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
      given = 1;
      return;
    }
    throw new Error(`Every block of ${blockSize} ports from ${firstFreePort} on is in use.`);
  }

  return async (options) => {
    for (;;) {
      if (given === blockSize) await takeBlock(options.host);
      const port = firstFreePort + block * blockSize + given;
      given += 1;
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
 * A port that nobody listens on now, for an engine in a process of its own, which cannot tell us
 * which it got; it stays good for an engine that is started again. @throws PortTaken
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
