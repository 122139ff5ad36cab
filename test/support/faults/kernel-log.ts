// The kernel's log as /dev/kmsg gives it, for tests.

import type { KernelLog } from '#agent/faults/kernel/kernel-log.ts';

/** The kernel's log, with a ring of some records. */
export function aKernelLog(ring = 100_000) {
  const records: string[] = [];
  let first = 0;
  return {
    write: (line: string | readonly [string, string], atMs = 1_000, priority = 3) => {
      const [text, below = ''] = typeof line === 'string' ? [line] : line;
      records.push(`${priority},${records.length},${atMs * 1000},-;${text}\n${below}`);
      first = Math.max(first, records.length - ring);
    },
    open: (): KernelLog => {
      let at = first;
      return {
        next: () => {
          if (at < first) {
            at = first;
            return 'lost';
          }
          const record = records[at];
          if (record === undefined) return 'end';
          at += 1;
          return { record };
        },
        close: () => {},
      };
    },
  };
}

/** A line of dmesg as a record: the kernel's fields below it name the device of its text. */
export function toRecord(text: string): readonly [string, string] {
  const [, address] = /^\S+ ([0-9a-f:]{10,14}\.[0-7])(?: (?:\1 )?[^:]+)?: /.exec(text) ?? [];
  if (address && !text.startsWith('NVRM')) {
    return [text, ` SUBSYSTEM=pci\n DEVICE=+pci:${address}\n`];
  }
  if (/^nvme nvme\d+: /.test(text)) return [text, ' SUBSYSTEM=nvme\n DEVICE=c241:0\n'];
  if (/^habanalabs hl\d+: /.test(text)) return [text, ' SUBSYSTEM=habanalabs\n DEVICE=c511:0\n'];
  return [text, ''];
}
