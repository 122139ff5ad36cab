// Every path of sysfs starts here. The agent is root, so a path that leaves the configured root is
// refused, whether by `..`, by an absolute name or by a link.

import {
  closeSync,
  constants,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  realpathSync,
} from 'node:fs';
import { open } from 'node:fs/promises';

export class SysfsPathRefused extends Error {
  override readonly name = 'SysfsPathRefused';
}

/** Paths are relative to the root. What is absent is `undefined`; other errors are thrown. */
export interface Sysfs {
  list(directory: string): readonly string[] | undefined;
  readAttribute(path: string): string | undefined;
  /** One write, as the kernel wants it. Rejects with the kernel's error, also if it is absent. */
  writeAttribute(path: string, text: string): Promise<void>;
  /** The last part of what a link names, without going there. */
  linkName(path: string): string | undefined;
  /** The absolute path, all links followed. @throws SysfsPathRefused if they lead out */
  resolve(path: string): string;
}

// A device may go at any moment: between readdir and open (ENOENT), between open and read
// (ENODEV).
const absentCodes = new Set(['ENOENT', 'ENODEV', 'ENXIO', 'ENOTDIR']);

// An attribute is one page at most and is to be read at once: a second read could see a new value.
const page = Buffer.alloc(4096);

export function openSysfs(root: string): Sysfs {
  const absolute = (path: string) => `${root}/${checked(path)}`;
  const resolve = (path: string) => {
    const resolved = realpathSync.native(absolute(path));
    if (!resolved.startsWith(`${realpathSync.native(root)}/`)) throw refusal(path);
    return resolved;
  };
  return {
    resolve,
    list: (directory) => unlessAbsent(() => readdirSync(absolute(directory))),
    readAttribute: (path) => unlessAbsent(() => readPage(absolute(path))),
    writeAttribute: async (path, text) => {
      // Asynchronous, since a driver may take long; never creates a file.
      const file = await open(resolve(path), constants.O_WRONLY);
      try {
        const { bytesWritten } = await file.write(text);
        if (bytesWritten !== text.length) throw new Error(`${path} took a part only.`);
      } finally {
        await file.close();
      }
    },
    linkName: (path) => {
      const target = unlessAbsent(() => readlinkSync(absolute(path)));
      return target?.slice(target.lastIndexOf('/') + 1);
    },
  };
}

function checked(path: string): string {
  const climbs = path.includes('..') && path.split('/').includes('..');
  if (climbs || path.startsWith('/') || path.includes('\0')) {
    throw refusal(path);
  }
  return path;
}

function refusal(path: string): SysfsPathRefused {
  return new SysfsPathRefused(`${JSON.stringify(path)} leads out of the sysfs root.`);
}

function readPage(path: string): string {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    // `stat` says 4096 or 0 for every attribute; only the read tells its length.
    return page.toString('latin1', 0, readSync(descriptor, page, 0, page.length, 0)).trimEnd();
  } finally {
    closeSync(descriptor);
  }
}

function unlessAbsent<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (absentCodes.has((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}
