// Errors of PCIe in records of the firmware (UEFI, Common Platform Error Record). The kernel
// prints a message for each field, with the number of the record: `{7}[Hardware Error]: ...`.

import { parsePciAddress, printPciAddress } from '#agent/sysfs/pci-address.ts';
import type { DriverMessage, KernelRecord } from './kernel-record.ts';

interface FirmwareRecord {
  readonly atMs: number;
  readonly severity: string;
  /** The one that is being read: each error of the record has a section. */
  readonly section?: { severity: string; isPcie?: boolean; address?: string };
}

/** Messages of one record follow each other within this time. */
const withinMs = 2_000;
/** Processors print records side by side, but not many. */
const recordsMax = 8;
const uncorrected = ['recoverable', 'fatal'];

/** Undefined until the device of a section is complete, and for errors that were corrected. */
export function createFirmwareRecords(): (record: KernelRecord) => DriverMessage | undefined {
  const records = new Map<string, FirmwareRecord>();

  return ({ text, atMs, subsystem, device }) => {
    const [, number, field] = /^\{(\d{1,10})\}\[Hardware Error\]: {1,4}(\S.*)$/.exec(text) ?? [];
    if (!number || !field || subsystem !== undefined || device !== undefined) return undefined;
    const [, severity] = /^event severity: (\w+)$/.exec(field) ?? [];
    if (severity) {
      records.delete(number);
      const [oldest] = records.keys();
      if (records.size >= recordsMax && oldest !== undefined) records.delete(oldest);
      records.set(number, { atMs, severity });
      return undefined;
    }
    const record = records.get(number);
    if (!record || atMs - record.atMs > withinMs) return undefined;
    const [, ofSection] = /^Error \d+, type: (\w+)$/.exec(field) ?? [];
    if (ofSection) records.set(number, { ...record, section: { severity: ofSection } });
    return record.section && readField(record.section, record.severity, field);
  };
}

function readField(
  section: NonNullable<FirmwareRecord['section']>,
  severity: string,
  field: string,
): DriverMessage | undefined {
  const [, type] = /^section_type: (.+)$/.exec(field) ?? [];
  if (type) section.isPcie = type === 'PCIe error';
  const [, address] = /^device_id: ([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])$/.exec(field) ?? [];
  if (address) section.address = address;
  const [, vendor, product] =
    /^vendor_id: 0x([0-9a-f]{4}), device_id: 0x([0-9a-f]{4})$/.exec(field) ?? [];
  const parsed = parsePciAddress(section.address ?? '');
  const isError = [severity, section.severity].every((each) => uncorrected.includes(each));
  if (!vendor || !parsed || !section.isPcie || !isError) return undefined;
  return {
    driver: 'ghes',
    device: printPciAddress(parsed),
    text: `firmware record of a PCIe error: ${section.severity}`,
    ids: `${vendor}:${product}`,
  };
}
