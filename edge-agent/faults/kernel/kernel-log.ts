// The kernel's log. One read(2) of /dev/kmsg is one record; the first read of a process is the
// oldest record that the kernel still has.

import { closeSync, constants, openSync, readSync } from 'node:fs';

export interface KernelLog {
  /** The next record; `end` if there is none yet, `lost` if older ones were overwritten. */
  next(): { readonly record: string } | 'end' | 'lost';
  close(): void;
}

/** More than the longest record of any kernel (8 KiB). */
const recordMax = 16 * 1024;

/** @throws the kernel's error, if the file cannot be opened */
export function openKernelLog(file: string): KernelLog {
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  const buffer = Buffer.alloc(recordMax);
  return {
    next: () => {
      try {
        const length = readSync(descriptor, buffer);
        return length === 0 ? 'end' : { record: buffer.toString('latin1', 0, length) };
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === 'EAGAIN') return 'end';
        if (code === 'EPIPE' || code === 'EINVAL') return 'lost';
        throw error;
      }
    },
    close: () => closeSync(descriptor),
  };
}
