// What `npm run hosts:add` takes: a record, or what `lspci -nnk`, `udevadm info --export-db` or
// `dmesg` has printed of a host.

import { type HostRecord, parseHost, printHost, RecordInvalid } from '#agent/record/host-record.ts';
import { compact } from './compact.ts';
import { parseKernelLog } from './kernel-log.ts';
import { parseListing } from './listing.ts';
import { parseUdevExport } from './udev-export.ts';

/** A large host's export of udev has 3 MB. */
const charactersMax = 32 << 20;

/** @throws RecordInvalid */
export function toRecord(text: string): string {
  if (text.length > charactersMax) throw new RecordInvalid('It has more than 32 MiB.');
  const compacted = compact(readAny(text));
  if (compacted.functions.length === 0) {
    throw new RecordInvalid('It has no accelerator, NVMe device or network card to record.');
  }
  const record = printHost(compacted);
  // What others print may have names that no kernel gives.
  parseHost(record);
  return record;
}

function readAny(text: string): HostRecord {
  if (/^E: DEVPATH=/m.test(text)) return parseUdevExport(text);
  const none = { masters: {}, routes: {}, mounts: {}, holders: {} };
  if (/: \[[0-9a-f]{4}:[0-9a-f]{4}\] type \S+ class 0x/.test(text)) {
    return { functions: parseKernelLog(text), ...none };
  }
  if (/\[[0-9a-f]{4}:[0-9a-f]{4}\]/.test(text)) return { functions: parseListing(text), ...none };
  return parseHost(text);
}
