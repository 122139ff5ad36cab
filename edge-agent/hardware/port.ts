// The one way to what may block in the kernel or in a device: each operation is a child process
// that runs a standard program (coreutils or busybox), without a shell. What the kernel answers
// from its own memory (links, directories, uevent) is read in process, by sysfs/root.ts.

import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '#agent/clock.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import { createDeviceQueue, type Health, type QueueLimits } from './device-queue.ts';
import { HardwareError, readCode } from './errno.ts';
import { type BatchDeps, type DeviceFile, readStarts } from './read-starts.ts';
import {
  type ChildOptions,
  type ChildResult,
  type StartChild,
  startChild,
} from './watched-child.ts';

/** `device` is the key under which a hanging operation blocks others, as a rule its address. */
export interface Hardware {
  /** The first bytes of a file below the sysfs root. @throws HardwareError */
  readBytes(device: string, path: string, count: number): Promise<Buffer>;
  /** An attribute without the newline at its end. @throws HardwareError */
  readText(device: string, path: string): Promise<string>;
  /** A text of procfs, such as a driver's facts of a device. @throws HardwareError */
  readProc(device: string, path: string): Promise<string>;
  /**
   * The beginning of one file of each of many devices, with few children. EBUSY for a device
   * that another operation uses.
   *
   * @param lengths that such files have, the longest first; without it, the first four bytes
   */
  readStarts(
    files: readonly DeviceFile[],
    lengths?: readonly number[],
  ): Promise<readonly (Buffer | HardwareError)[]>;
  /** One write(2). @throws HardwareError with the kernel's code */
  writeText(device: string, path: string, text: string, limitMs?: number): Promise<void>;
  /**
   * Runs a vendor's tool: an absolute path, or a name in the system's folders for programs.
   * @throws HardwareError if it cannot be started, is late or prints too much
   */
  exec(device: string, tool: string, args: readonly string[], limitMs?: number): Promise<Answer>;
  /** Whether a vendor's tool can be started; without a name, the helper. */
  isInstalled(tool?: string): boolean;
  /**
   * Has the helper ask the kernel what takes an ioctl or a mapping, and returns what it prints;
   * see helper/helper.c for its verbs.
   * @throws HardwareError with the kernel's code; ENOENT where the helper is not installed
   */
  help(device: string, args: readonly string[], limitMs?: number): Promise<string>;
  healthOf(device: string): Health;
}

export interface Answer {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface HardwareDeps {
  readonly sysfs: Sysfs;
  /** `/proc`, but in tests. */
  readonly procRoot?: string;
  /** The program; another one in tests. */
  readonly helper?: string;
  readonly clock: Clock;
  readonly limits?: Partial<QueueLimits & { readonly readMs: number }>;
  readonly start?: StartChild;
}

const directories = ['/usr/bin', '/bin', '/usr/sbin', '/sbin'] as const;
const environment = { LC_ALL: 'C', PATH: directories.join(':') } as const;

/** A page, the length of the longest attribute. */
const textMax = 4096;
/** nvidia-smi lists all clocks of a card: some 120 KiB of XML. */
const toolOutputMax = 512 * 1024;
/** An unbind or a reset waits for the device; the kernel gives up after some 60 seconds. */
const writeMs = 90_000;

export function openHardware({
  sysfs,
  procRoot = '/proc',
  helper = '/usr/lib/cyborg-agent/helper',
  clock,
  limits,
  start = startChild,
}: HardwareDeps): Hardware {
  const { childrenMax = 32, abandonedMax = 16, readMs = 5_000 } = limits ?? {};
  const queue = createDeviceQueue({ childrenMax, abandonedMax }, clock.wallMs);

  async function run(device: string, options: Omit<ChildOptions, 'environment'>) {
    const result = await queue.run(device, () => start({ ...options, environment }));
    return checked(result, device, options);
  }

  const readBytes = (device: string, path: string, count: number) =>
    readStart(device, resolved(sysfs, path), count);

  async function readStart(device: string, path: string, count: number): Promise<Buffer> {
    const args = ['-c', String(count), path];
    const child = { program: programAt('head'), args, limitMs: readMs, outputMax: count };
    const { exitCode, stdout, stderr } = await run(device, child);
    if (exitCode !== 0) throw new HardwareError(readCode(stderr), `${path} cannot be read`);
    return stdout;
  }

  const batches: BatchDeps = {
    queue,
    readAlone: readBytes,
    startHead: (args, outputMax) =>
      start({ program: programAt('head'), args, environment, limitMs: readMs, outputMax }),
    resolve: (path) => resolved(sysfs, path),
  };
  return {
    readBytes,
    readText: async (device, path) =>
      (await readBytes(device, path, textMax)).toString('latin1').trimEnd(),
    readProc: async (device, path) => {
      if (path.split('/').includes('..')) throw new HardwareError('EINVAL', `${path} goes up`);
      const text = await readStart(device, `${procRoot}/${path}`, textMax);
      return text.toString('latin1').trimEnd();
    },
    readStarts: (files, lengths) => readStarts(batches, files, lengths),
    writeText: async (device, path, text, limitMs = writeMs) => {
      if (text.length === 0 || text.length > textMax) {
        throw new HardwareError('EINVAL', `${path}: the text must have 1 to ${textMax} characters`);
      }
      // One block is one read from the pipe and one write(2), as the kernel requires.
      const args = [`of=${resolved(sysfs, path)}`, `bs=${textMax}`, 'count=1', 'conv=notrunc'];
      const child = { program: programAt('dd'), args, stdin: text, limitMs, outputMax: textMax };
      const { exitCode, stderr } = await run(device, child);
      if (exitCode !== 0) throw new HardwareError(readCode(stderr), `${path} cannot be written`);
    },
    exec: async (device, tool, args, limitMs = writeMs) => {
      const child = { program: programAt(tool), args, limitMs, outputMax: toolOutputMax };
      const { exitCode, stdout, stderr } = await run(device, child);
      return { exitCode, stdout: stdout.toString('utf8'), stderr };
    },
    isInstalled: (tool = helper) => isFound(tool),
    help: async (device, args, limitMs = writeMs) => {
      const child = { program: programAt(helper), args, limitMs, outputMax: textMax };
      const { exitCode, stdout, stderr } = await run(device, child);
      if (exitCode === 0) return stdout.toString('latin1').trim();
      const code = exitCode === 1 ? readCode(stderr) : 'EINVAL';
      throw new HardwareError(code, `the helper refused ${args.join(' ').slice(0, 200)}`);
    },
    healthOf: queue.healthOf,
  };
}

function checked(result: ChildResult, device: string, child: { program: string; limitMs: number }) {
  const { end, stderr } = result;
  if (end === 'exited') return result;
  const reasons = {
    late: ['ETIMEDOUT', `no answer within ${child.limitMs / 1000} s`],
    loud: ['EFBIG', `${child.program} printed too much`],
    failed: ['EIO', `${child.program} did not run: ${stderr || 'a signal ended it'}`],
  } as const;
  const [code, reason] = reasons[end];
  throw new HardwareError(code, `${device}: ${reason}`);
}

/** @throws HardwareError ENOENT for an absent file: dd would create it in a trial's tree */
function resolved(sysfs: Sysfs, path: string): string {
  try {
    return sysfs.resolve(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new HardwareError(code, `${path} cannot be opened`);
  }
}

function programAt(tool: string): string {
  if (tool.startsWith('/')) {
    if (isExecutable(tool)) return tool;
    throw new HardwareError('ENOENT', `${tool} is not installed`);
  }
  if (!/^[a-zA-Z0-9][a-zA-Z0-9._-]*$/.test(tool)) {
    throw new HardwareError('EINVAL', `${JSON.stringify(tool)} is not the name of a program`);
  }
  const path = directories.map((each) => join(each, tool)).find(isExecutable);
  if (!path) throw new HardwareError('ENOENT', `${tool} is in none of ${directories.join(', ')}`);
  return path;
}

function isFound(tool: string): boolean {
  try {
    return programAt(tool) !== '';
  } catch {
    return false;
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
