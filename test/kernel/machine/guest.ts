// The guest as the scenarios use it: its files, its commands and its processes, through a virtio
// port of the VM.

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { basename } from 'node:path';
import { createInterface } from 'node:readline';
import type { Call, Notice, Ran, Reply } from '#test/kernel/protocol.ts';

/** A call that takes longer has blocked in the kernel. */
const callMsMax = 300_000;

/** The kernel's error; `code` is `EBUSY`, for instance. */
class GuestError extends Error {
  override readonly name = 'GuestError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export interface GuestProcess {
  /** All lines so far. */
  readonly lines: readonly string[];
  /** Resolves with the first line that holds. @throws if the process ends before */
  line(holds: (line: string) => boolean): Promise<string>;
  /** @returns the exit code */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

export interface Guest {
  /** The boot id of its kernel. */
  readonly bootId: string;
  /** Without white space at the end. */
  read(path: string): Promise<string>;
  /** One write(2); creates no file. */
  write(path: string, text: string): Promise<void>;
  list(path: string): Promise<string[]>;
  /** The last part of the link's target. */
  link(path: string): Promise<string>;
  exists(path: string): Promise<boolean>;
  save(path: string, content: string | Uint8Array): Promise<void>;
  /** Returns the output. @throws Error with the error output */
  run(...command: readonly string[]): Promise<string>;
  tryRun(...command: readonly string[]): Promise<Ran>;
  start(
    name: string,
    command: readonly string[],
    environment?: Readonly<Record<string, string>>,
  ): Promise<GuestProcess>;
}

/** @returns the kernel's error code, or `none` if the call succeeds */
export async function errorOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return 'none';
  } catch (error) {
    if (error instanceof GuestError) return error.code;
    throw error;
  }
}

/** Starts a program that has the VFIO device at the path open until it is stopped. */
export async function holdOpen(guest: Guest, device: string): Promise<GuestProcess> {
  const node = `/dev/vfio/${await guest.link(`${device}/iommu_group`)}`;
  const command = ['kernel-calls', 'vfio-hold', node, basename(device)];
  const holder = await guest.start('holder', command);
  await holder.line((line) => line === 'held');
  return holder;
}

/** Binds the function to the driver, away from another one. */
export async function bindTo(guest: Guest, address: string, driver: string): Promise<void> {
  const device = `/sys/bus/pci/devices/${address}`;
  await guest.write(`${device}/driver_override`, driver);
  if (await guest.exists(`${device}/driver`)) {
    await guest.write(`${device}/driver/unbind`, address);
  }
  await guest.write('/sys/bus/pci/drivers_probe', address);
  assert.equal(await guest.link(`${device}/driver`), driver);
}

interface Running {
  readonly lines: string[];
  exit?: number | null;
  changed: () => void;
}

/**
 * Resolves when the guest is up.
 *
 * @param lost aborts, with the reason, when the VM has ended
 * @param onLine called with each line of a process that {@link Guest.start} has started
 */
export function connectGuest(
  socket: Socket,
  lost: AbortSignal,
  onLine: (process: string, line: string) => void,
): Promise<Guest> {
  const waiting = new Map<number, (reply: Reply) => void>();
  const processes = new Map<string, Running>();
  let calls = 0;

  const { promise: ready, resolve: isReady } = Promise.withResolvers<string>();
  const replies = createInterface(socket);
  // The end of QEMU says why.
  replies.on('error', () => {});
  replies.on('line', (line) => {
    const message = JSON.parse(line) as Reply | Notice;
    if ('ready' in message) return isReady(message.ready.trim());
    if ('id' in message) return waiting.get(message.id)?.(message);
    const running = processes.get(message.process);
    if (!running) return;
    if ('line' in message) {
      running.lines.push(message.line);
      onLine(message.process, message.line);
    } else running.exit = message.exit;
    running.changed();
  });
  socket.on('error', () => {});

  async function call<T>(request: Call): Promise<T> {
    lost.throwIfAborted();
    const id = ++calls;
    const { promise, resolve } = Promise.withResolvers<Reply>();
    waiting.set(id, resolve);
    const what = `${request.call} ${'path' in request ? request.path : JSON.stringify(request)}`;
    try {
      socket.write(`${JSON.stringify({ ...request, id })}\n`);
      const { value, error } = await limited(promise, lost, what);
      if (error) throw new GuestError(error.code, error.message);
      return value as T;
    } finally {
      waiting.delete(id);
    }
  }

  async function tryRun(...command: readonly string[]): Promise<Ran> {
    return call<Ran>({ call: 'run', command });
  }

  async function start(
    name: string,
    command: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ): Promise<GuestProcess> {
    const running: Running = { lines: [], changed: () => {} };
    processes.set(name, running);
    await call({ call: 'start', name, command, environment });
    const until = async (holds: () => boolean, what: string) => {
      while (!holds()) {
        const { promise, resolve } = Promise.withResolvers<void>();
        running.changed = resolve;
        await limited(promise, lost, what);
      }
    };
    return {
      lines: running.lines,
      line: async (holds) => {
        const found = () => running.lines.find(holds);
        const what = `a line of ${name}`;
        await until(() => found() !== undefined || running.exit !== undefined, what);
        const line = found();
        assert.ok(line, `${name} has ended with ${running.exit}: ${running.lines.join('\n')}`);
        return line;
      },
      stop: async (signal = 'SIGTERM') => {
        await call({ call: 'kill', name, signal });
        await until(() => running.exit !== undefined, `the end of ${name}`);
        return running.exit ?? null;
      },
    };
  }

  const guest: Omit<Guest, 'bootId'> = {
    read: async (path) => (await call<string>({ call: 'read', path })).trimEnd(),
    write: (path, text) => call({ call: 'write', path, text }),
    list: (path) => call({ call: 'list', path }),
    link: (path) => call({ call: 'link', path }),
    exists: (path) => call({ call: 'exists', path }),
    save: (path, content) => {
      return call({ call: 'save', path, base64: Buffer.from(content).toString('base64') });
    },
    run: async (...command) => {
      const { code, stdout, stderr } = await tryRun(...command);
      assert.equal(code, 0, `${command.join(' ')} failed: ${stderr}`);
      return stdout;
    },
    tryRun,
    start,
  };
  return limited(ready, lost, 'the boot').then((bootId) => ({ ...guest, bootId }));
}

/** @throws the reason of `lost`, or an Error after {@link callMsMax} */
async function limited<T>(promise: Promise<T>, lost: AbortSignal, what: string): Promise<T> {
  lost.throwIfAborted();
  const done = new AbortController();
  const failed = new Promise<never>((_, reject) => {
    const fail = () => reject(lost.reason);
    lost.addEventListener('abort', fail, { signal: done.signal });
    const timer = setTimeout(
      () => reject(new Error(`The guest has not answered within ${callMsMax / 1000} s: ${what}.`)),
      callMsMax,
    );
    done.signal.addEventListener('abort', () => clearTimeout(timer));
  });
  try {
    return await Promise.race([promise, failed]);
  } finally {
    done.abort();
  }
}
