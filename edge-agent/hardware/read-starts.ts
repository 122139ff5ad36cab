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

/** The identity of a PCI device: vendor and product. */
const idBytes = [4] as const;
const filesPerChild = 256;

type Read = Buffer | HardwareError;

/** @param lengths that a file may have at most, the longest first: no more of it is read */
export async function readStarts(
  deps: BatchDeps,
  files: readonly DeviceFile[],
  lengths: readonly number[] = idBytes,
): Promise<readonly Read[]> {
  const reads = new Map<DeviceFile, Read | Promise<Read>>();
  const together: (DeviceFile & { readonly absolute: string })[] = [];
  for (const file of files) {
    const { device, path } = file;
    if (deps.queue.isBusy(device)) {
      const state = deps.queue.isStuck(device) ? 'hangs in the kernel' : 'runs';
      reads.set(file, new HardwareError('EBUSY', `an earlier operation on ${device} ${state}`));
    } else if (deps.queue.healthOf(device).state === 'unhealthy') {
      // A device that was late would make the others of its child late, too.
      reads.set(file, alone(deps, file, lengths));
    } else {
      const absolute = orError(() => deps.resolve(path));
      if (absolute instanceof HardwareError) reads.set(file, absolute);
      else together.push({ device, path, absolute });
    }
  }
  const batches = Array.from({ length: Math.ceil(together.length / filesPerChild) }, (_, index) =>
    together.slice(index * filesPerChild, (index + 1) * filesPerChild),
  );
  const starts = new Map<string, Read>();
  await Promise.all(
    batches.map(async (batch) => {
      const paths = batch.map(({ absolute }) => absolute);
      const printed = await toHead(deps, paths, lengths);
      await Promise.all(
        batch.map(async (file) => {
          // One file that fails or hangs may hide others; each is then read by a child of its own.
          starts.set(file.path, printed.get(file.absolute) ?? (await alone(deps, file, lengths)));
        }),
      );
    }),
  );
  return await Promise.all(
    files.map(async (file) => (await reads.get(file)) ?? starts.get(file.path) ?? absent(file)),
  );
}

function absent({ path }: DeviceFile): HardwareError {
  return new HardwareError('EIO', `${path} was not read`);
}

async function alone(
  { readAlone }: BatchDeps,
  { device, path }: DeviceFile,
  lengths: readonly number[],
): Promise<Read> {
  try {
    return await readAlone(device, path, Math.max(...lengths));
  } catch (error) {
    if (error instanceof HardwareError) return error;
    throw error;
  }
}

/** What one child printed of each file; empty if it failed. */
async function toHead(deps: BatchDeps, paths: readonly string[], lengths: readonly number[]) {
  const bytes = Math.max(...lengths);
  const outputMax = paths.reduce((sum, path) => sum + path.length + bytes + 16, 0);
  const args = ['-v', '-c', String(bytes), ...paths];
  try {
    const { end, stdout } = await deps.queue.runShared(() => deps.startHead(args, outputMax));
    return end === 'exited' ? split(stdout, paths, lengths) : new Map<string, Buffer>();
  } catch (error) {
    if (error instanceof HardwareError) return new Map<string, Buffer>();
    throw error;
  }
}

const lineStart = Buffer.from('\n==> ');

/**
 * The contents by path, of files that were read in full. The longest length counts after which a
 * file's line follows: so no content that looks like such a line ends its own file early.
 */
function split(
  printed: Buffer,
  paths: readonly string[],
  lengths: readonly number[],
): Map<string, Buffer> {
  const contents = new Map<string, Buffer>();
  let at = 0;
  for (const path of paths) {
    const line = Buffer.from(`${contents.size > 0 ? '\n' : ''}==> ${path} <==\n`);
    if (!printed.subarray(at, at + line.length).equals(line)) continue;
    const from = at + line.length;
    // After a failed read the next file's line follows at once.
    const isEnd = (end: number) =>
      printed.length === end || printed.subarray(end, end + 5).equals(lineStart);
    const length = lengths.find((each) => from + each <= printed.length && isEnd(from + each));
    if (length === undefined) break;
    contents.set(path, printed.subarray(from, from + length));
    at = from + length;
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
