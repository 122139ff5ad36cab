// Every path of sysfs starts here. The agent is root, so a path that leaves the configured root is
// refused, whether by `..`, by an absolute name or by a link.

import { closeSync, constants, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';
import { posix } from 'node:path';

export class SysfsPathRefused extends Error {
  override readonly name = 'SysfsPathRefused';
}

/** Paths are relative to the root. What is absent is `undefined`; other errors are thrown. */
export interface Sysfs {
  list(directory: string): readonly string[] | undefined;
  readAttribute(path: string): string | undefined;
  /** Where a link leads, again relative to the root. */
  followLink(path: string): string | undefined;
  /** The path for those who must open it themselves. */
  absolute(path: string): string;
}

// A device may go at any moment: between readdir and open (ENOENT), between open and read (ENODEV).
const absentCodes = new Set(['ENOENT', 'ENODEV', 'ENXIO', 'ENOTDIR']);

// An attribute is one page at most and is to be read at once: a second read could see a new value.
const page = Buffer.alloc(4096);

export function openSysfs(root: string): Sysfs {
  const absolute = (path: string) => `${root}/${checked(path)}`;
  return {
    absolute,
    list: (directory) => unlessAbsent(() => readdirSync(absolute(directory))),
    readAttribute: (path) => unlessAbsent(() => readPage(absolute(path))),
    followLink: (path) => {
      const target = unlessAbsent(() => readlinkSync(absolute(path)));
      return target === undefined ? undefined : checked(resolveLink(path, target));
    },
  };
}

function checked(path: string): string {
  const leaves = path.startsWith('/') || path.split('/').includes('..');
  if (leaves || path.includes('\0')) {
    throw new SysfsPathRefused(`${JSON.stringify(path)} leads out of the sysfs root.`);
  }
  return path;
}

function resolveLink(path: string, target: string): string {
  return posix.isAbsolute(target) ? target : posix.join(posix.dirname(path), target);
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
