// Reads the first bytes of one file of each of many devices: `head` prints many files with their
// names, so that a host of 512 devices needs two children instead of 512.

import type { DeviceQueue } from './device-queue.ts';
import { HardwareError } from './errno.ts';
import type { WatchedChild } from './watched-child.ts';

export interface DeviceFile {
  readonly device: string;
  /** Below the sysfs root. */
  readonly path: string;
}

export interface BatchDeps {
  readonly queue: DeviceQueue;
  readonly readAlone: (device: string, path: string, count: number) => Promise<Buffer>;
  readonly startHead: (args: readonly string[], outputMax: number) => WatchedChild;
  /** @throws HardwareError */
  readonly resolve: (path: string) => string;
}

/** Shorter than the line with a file's name, so that no content can look like one. */
const bytes = 4;
const filesPerChild = 256;

type Read = Buffer | HardwareError;

export async function readStarts(
  deps: BatchDeps,
  files: readonly DeviceFile[],
): Promise<readonly Read[]> {
  const reads = new Map<DeviceFile, Read | Promise<Read>>();
  const together: (DeviceFile & { readonly absolute: string })[] = [];
  for (const file of files) {
    const { device, path } = file;
    if (deps.queue.isBusy(device)) {
      const what = deps.queue.isStuck(device) ? 'hangs in the kernel' : 'runs';
      reads.set(file, new HardwareError('EBUSY', `an earlier operation on ${device} ${what}`));
    } else if (deps.queue.healthOf(device).state === 'unhealthy') {
      // A device that was late would make the others of its child late, too.
      reads.set(file, alone(deps, file));
    } else {
      const absolute = orError(() => deps.resolve(path));
      if (absolute instanceof HardwareError) reads.set(file, absolute);
      else together.push({ device, path, absolute });
    }
  }
  const batches = Array.from({ length: Math.ceil(together.length / filesPerChild) }, (_, index) =>
    together.slice(index * filesPerChild, (index + 1) * filesPerChild),
  );
  const found = new Map<string, Read>();
  await Promise.all(
    batches.map(async (batch) => {
      const paths = batch.map(({ absolute }) => absolute);
      const printed = await headOf(deps, paths);
      await Promise.all(
        batch.map(async (file) => {
          // One file that fails or hangs may hide others; each is then read by a child of its own.
          found.set(file.path, printed.get(file.absolute) ?? (await alone(deps, file)));
        }),
      );
    }),
  );
  return await Promise.all(
    files.map(async (file) => (await reads.get(file)) ?? found.get(file.path) ?? absent(file)),
  );
}

function absent({ path }: DeviceFile): HardwareError {
  return new HardwareError('EIO', `${path} was not read`);
}

async function alone({ readAlone }: BatchDeps, { device, path }: DeviceFile): Promise<Read> {
  try {
    return await readAlone(device, path, bytes);
  } catch (error) {
    if (error instanceof HardwareError) return error;
    throw error;
  }
}

/** What one child printed of each file; empty if it failed. */
async function headOf(deps: BatchDeps, paths: readonly string[]) {
  const outputMax = paths.reduce((sum, path) => sum + path.length + bytes + 16, 0);
  const args = ['-v', '-c', String(bytes), ...paths];
  try {
    const { end, stdout } = await deps.queue.runShared(() => deps.startHead(args, outputMax));
    return end === 'exited' ? split(stdout, paths) : new Map<string, Buffer>();
  } catch (error) {
    if (error instanceof HardwareError) return new Map<string, Buffer>();
    throw error;
  }
}

const lineStart = Buffer.from('\n==> ');

/** The contents by path, of files that were read in full length. */
function split(printed: Buffer, paths: readonly string[]): Map<string, Buffer> {
  const contents = new Map<string, Buffer>();
  let at = 0;
  for (const path of paths) {
    const line = Buffer.from(`${contents.size > 0 ? '\n' : ''}==> ${path} <==\n`);
    if (!printed.subarray(at, at + line.length).equals(line)) continue;
    const content = printed.subarray(at + line.length, at + line.length + bytes);
    const next = at + line.length + bytes;
    // After a failed read the next file's line follows at once.
    const isWhole = printed.length === next || printed.subarray(next, next + 5).equals(lineStart);
    if (content.length < bytes || !isWhole) break;
    contents.set(path, content);
    at = next;
  }
  return contents;
}

function orError<T>(work: () => T): T | HardwareError {
  try {
    return work();
  } catch (error) {
    if (error instanceof HardwareError) return error;
    throw error;
  }
}
