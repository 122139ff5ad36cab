// Reads procfs, below a root that a test can set. A process may end at any moment, and its files
// may be unreadable: that is `undefined`, never an error.

import { closeSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';

export interface Proc {
  list(directory: string): readonly string[] | undefined;
  linkTarget(path: string): string | undefined;
  /** The whole file; undefined if it is longer than the limit, too. */
  read(path: string): string | undefined;
}

/** A host of a thousand containers has a mountinfo of one or two megabytes. */
const bytesMax = 16 * 1024 * 1024;

export function openProc(root: string): Proc {
  return {
    list: (directory) => unlessUnreadable(() => readdirSync(`${root}/${directory}`)),
    linkTarget: (path) => unlessUnreadable(() => readlinkSync(`${root}/${path}`)),
    read: (path) => unlessUnreadable(() => readWhole(`${root}/${path}`)),
  };
}

function readWhole(path: string): string | undefined {
  const descriptor = openSync(path, 'r');
  try {
    const chunks: Buffer[] = [];
    for (let length = 0; length <= bytesMax; ) {
      const chunk = Buffer.allocUnsafe(64 * 1024);
      const count = readSync(descriptor, chunk);
      if (count === 0) return Buffer.concat(chunks).toString('latin1');
      chunks.push(chunk.subarray(0, count));
      length += count;
    }
    return undefined;
  } finally {
    closeSync(descriptor);
  }
}

function unlessUnreadable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
