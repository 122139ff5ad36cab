// Makes a record of what people print of their hosts: `lspci -nn` and `-nnk`, also with the IOMMU
// group before or the driver behind each line, as scripts of forums print them.

import { type RecordedFunction, RecordInvalid } from '#agent/record/host-record.ts';

const functionLine =
  /^(?:IOMMU Group (\d+):? )?((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) [^[]+\[([0-9a-f]{4})\]: .*\[([0-9a-f]{4}:[0-9a-f]{4})\](?: \(rev ([0-9a-f]{2})\))?(?: \(prog-if ([0-9a-f]{2}).*?\))?(?: \(driver: (\S+)\))?/;
const detail = {
  subsystem: /^\s+Subsystem: .*\[([0-9a-f]{4}:[0-9a-f]{4})\]/,
  driver: /^\s+Kernel driver in use: (\S+)/,
  group: /^\s+IOMMU group: (\d+)/,
  node: /NUMA node:? (\d+)/,
} as const;

/** @throws RecordInvalid */
export function parseListing(text: string): RecordedFunction[] {
  const functions: RecordedFunction[] = [];
  for (const line of text.split('\n')) {
    const [, group, address = '', code, ids, rev, prog = '00', driver] =
      functionLine.exec(line) ?? [];
    if (code && ids) {
      const values = { ...(rev && { rev }), ...(driver && { driver }), ...(group && { group }) };
      const whole = /^[0-9a-f]{2}:/.test(address) ? `0000:${address}` : address;
      functions.push({ address: whole, ids, classCode: code + prog, values });
      continue;
    }
    const last = functions.at(-1);
    for (const [name, pattern] of Object.entries(detail)) {
      const value = pattern.exec(line)?.[1];
      if (value && last)
        functions[functions.length - 1] = {
          ...last,
          values: { ...functions.at(-1)?.values, [name]: value },
        };
    }
  }
  if (functions.length === 0) throw new RecordInvalid('The listing has no line of `lspci -nn`.');
  return functions;
}
