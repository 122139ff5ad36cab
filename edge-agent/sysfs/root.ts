// Every sysfs path starts here. The agent is root, so a path that leaves the configured root is
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

/** Paths are relative to the root. An absent file is `undefined`; other errors are thrown. */
export interface Sysfs {
  list(directory: string): readonly string[] | undefined;
  readAttribute(path: string): string | undefined;
  /**
   * One write, as the kernel requires. Rejects with the kernel's error, also if the file is
   * absent.
   */
  writeAttribute(path: string, text: string): Promise<void>;
  /** A link's target as it is written; undefined if the path is no link, too. */
  linkTarget(path: string): string | undefined;
  /** The last part of a link's target. */
  linkName(path: string): string | undefined;
  /** The absolute path with all links followed. @throws SysfsPathRefused if it leaves the root */
  resolve(path: string): string;
}

// A device may disappear at any moment: between readdir and open (ENOENT), or between open and
// read (ENODEV).
const absentCodes = new Set(['ENOENT', 'ENODEV', 'ENXIO', 'ENOTDIR']);

// An attribute is at most one page, read at once: a second read could see a new value.
const page = Buffer.alloc(4096);

export function openSysfs(root: string): Sysfs {
  const absolute = (path: string) => `${root}/${checked(path)}`;
  const resolve = (path: string) => {
    const resolved = realpathSync.native(absolute(path));
    if (!resolved.startsWith(`${realpathSync.native(root)}/`)) throw refusal(path);
    return resolved;
  };
  const linkTarget = (path: string) => unlessAbsent(() => readlinkSync(absolute(path)), 'EINVAL');
  return {
    resolve,
    list: (directory) => unlessAbsent(() => readdirSync(absolute(directory))),
    readAttribute: (path) => unlessAbsent(() => readPage(absolute(path))),
    writeAttribute: async (path, text) => {
      // Asynchronous, because a driver may be slow; never creates a file.
      const file = await open(resolve(path), constants.O_WRONLY);
      try {
        const { bytesWritten } = await file.write(text);
        if (bytesWritten !== text.length) throw new Error(`${path} was written only in part.`);
      } finally {
        await file.close();
      }
    },
    linkTarget,
    linkName: (path) => {
      const target = linkTarget(path);
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
  return new SysfsPathRefused(`${JSON.stringify(path)} is outside the sysfs root.`);
}

function readPage(path: string): string {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    // `stat` reports 4096 or 0 for every attribute; only the read shows its length.
    return page.toString('latin1', 0, readSync(descriptor, page, 0, page.length, 0)).trimEnd();
  } finally {
    closeSync(descriptor);
  }
}

function unlessAbsent<T>(read: () => T, alsoAbsent?: string): T | undefined {
  try {
    return read();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== undefined && (absentCodes.has(code) || code === alsoAbsent)) return undefined;
    throw error;
  }
}
