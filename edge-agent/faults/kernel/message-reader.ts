// Reads messages that take several records: of NVIDIA's driver at a probe, and of errors of PCIe
// that the firmware handles. Other records may come between them.

import { createFirmwareRecords } from './firmware-records.ts';
import { type DriverMessage, type KernelRecord, readMessage } from './kernel-record.ts';

/** Records of one message follow each other within this time. */
const withinMs = 2_000;
/** A flood of first records must not grow. */
const pendingMax = 64;

interface Status {
  /** Bits of the Uncorrectable Error Status register that are not masked. */
  readonly errors: number;
  readonly atMs: number;
}

export function createMessageReader(): (record: KernelRecord) => DriverMessage | undefined {
  const statuses = new Map<string, Status>();
  const readFirmware = createFirmwareRecords();
  let nvidia: { readonly text: string; readonly atMs: number } | undefined;

  /** The kernel writes the status first, and the severity of each bit unless it was corrected. */
  const joinAer = (message: DriverMessage, atMs: number): DriverMessage | undefined => {
    const [, status, mask] =
      /^(?:AER: )?aer_(?:uncor_)?status: 0x([0-9a-f]{8}), aer_(?:uncor_)?mask: 0x([0-9a-f]{8})$/.exec(
        message.text,
      ) ?? [];
    if (status && mask) {
      if (statuses.size >= pendingMax) statuses.clear();
      const errors = Number.parseInt(status, 16) & ~Number.parseInt(mask, 16);
      statuses.set(message.device, { errors, atMs });
      return undefined;
    }
    const [, severity] = /^(?:AER: )?aer_uncor_severity: 0x([0-9a-f]{8})$/.exec(message.text) ?? [];
    if (!severity) return message;
    const before = statuses.get(message.device);
    statuses.delete(message.device);
    if (!before || before.errors === 0 || atMs - before.atMs > withinMs) return undefined;
    const isFatal = (before.errors & Number.parseInt(severity, 16)) !== 0;
    const text = `firmware reports an uncorrectable error (${isFatal ? 'fatal' : 'non-fatal'})`;
    return { ...message, text };
  };

  /** The text with the lines of NVIDIA's driver that were written just before. */
  const joinNvidia = ({ text, atMs }: KernelRecord): string | undefined => {
    if (/^NVRM: The NVIDIA GPU [0-9a-f:.]{12,16}\s*$/i.test(text)) {
      nvidia = { text, atMs };
      return undefined;
    }
    const before = nvidia;
    nvidia = undefined;
    if (!before || atMs - before.atMs > withinMs) return undefined;
    const joined = `${before.text}\n${text}`;
    if (!/^NVRM: (\(PCI ID: |installed in this system|fallen off the bus)/.test(text)) {
      return undefined;
    }
    if (/^NVRM: fallen off/.test(text)) return joined;
    nvidia = { text: joined, atMs };
    return undefined;
  };

  return (record) => {
    if (record.text.startsWith('NVRM: ') && record.subsystem === undefined) {
      const joined = joinNvidia(record);
      if (joined !== undefined) return readMessage({ ...record, text: joined });
    }
    const message = readMessage(record) ?? readFirmware(record);
    return message && joinAer(message, record.atMs);
  };
}
