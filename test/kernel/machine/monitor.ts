// QEMU's monitor (QMP): what a scenario does to the devices of a VM from outside.

import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';

export interface Monitor {
  /** QEMU's argument that connects it. */
  readonly arguments: readonly string[];
  /** @throws Error with QEMU's words if it refuses */
  run(command: string, given?: Readonly<Record<string, unknown>>): Promise<unknown>;
  close(): void;
}

interface Message {
  readonly return?: unknown;
  readonly error?: { readonly desc: string };
}

/** @param path of the socket that QEMU connects to */
export async function openMonitor(path: string, lost: AbortSignal): Promise<Monitor> {
  const server = createServer().listen(path);
  await once(server, 'listening');
  const waiting: ((message: Message) => void)[] = [];
  const connected = Promise.withResolvers<(text: string) => void>();
  server.once('connection', (socket) => {
    // The end of QEMU says why.
    socket.on('error', () => {});
    const lines = createInterface(socket);
    lines.on('error', () => {});
    lines.on('line', (line) => {
      const message = JSON.parse(line) as Message;
      // The rest are QEMU's greeting and its events.
      if ('return' in message || 'error' in message) waiting.shift()?.(message);
    });
    connected.resolve((text) => socket.write(text));
  });
  const run: Monitor['run'] = async (command, given = {}) => {
    lost.throwIfAborted();
    const write = await connected.promise;
    const { promise, resolve, reject } = Promise.withResolvers<Message>();
    const end = () => reject(lost.reason);
    lost.addEventListener('abort', end);
    waiting.push(resolve);
    write(`${JSON.stringify({ execute: command, arguments: given })}\n`);
    const answer = await promise.finally(() => lost.removeEventListener('abort', end));
    if (answer.error) throw new Error(`QEMU refuses ${command}: ${answer.error.desc}`);
    return answer.return;
  };
  let hasBegun: Promise<unknown> | undefined;
  return {
    arguments: [
      '-chardev',
      `socket,id=monitor,path=${path}`,
      '-mon',
      'chardev=monitor,mode=control',
    ],
    run: async (...command) => {
      hasBegun ??= run('qmp_capabilities');
      await hasBegun;
      return await run(...command);
    },
    close: () => server.close(),
  };
}
