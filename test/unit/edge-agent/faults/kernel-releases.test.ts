// The fault catalogue against what the sources of Linux and of NVIDIA's open drivers print, for
// each compared release.

import { describe, expect, it } from 'vitest';
import { faultRows, findFault } from '#agent/faults/fault-rows.ts';
import { parseRecord } from '#agent/faults/kernel/kernel-record.ts';
import { createMessageReader } from '#agent/faults/kernel/message-reader.ts';
import { toRecord } from '#test/support/faults/kernel-log.ts';
import { expandFormat } from '#test/support/faults/kernel-strings.ts';
import {
  compareReleases,
  type KernelMessage,
  readMessages,
} from '#test/support/faults/read-kernels.ts';

const messages = readMessages();
const releases = [...new Set(messages.flatMap((each) => each.releases))].sort(compareReleases);
/** `4.18.el8` has drivers of later kernels. */
const mainline = releases.filter((release) => /^\d+\.\d+$/.test(release));
const branches = releases.filter((release) => release.startsWith('R'));

const address = '0000:3b:00.0';
const isFrom = (release: string, first: string) => compareReleases(release, first) >= 0;

/** What stands before the file's own prefix, by the call and the kernel's own macros. */
function beginning({ row, file, call }: KernelMessage, release: string): string {
  const [driver = 'vfio-pci'] = faultRows.find(({ id }) => id === row)?.drivers ?? [];
  if (row === 'sxid-fatal') return `nvidia-nvswitch0: SXid (PCI:${address}): 20034, `;
  if (row === 'xid-154') return 'NVRM: Xid (PCI:0000:3b:00): 154, ';
  if (call === 'NV_DEV_PRINTF') return `NVRM: GPU ${address}: `;
  if (/^printk|^pr_|^nv_printf/.test(call)) return '';
  if (file.startsWith('drivers/nvme')) return 'nvme nvme0: ';
  if (file.includes('habanalabs')) {
    return isFrom(release, '6.8') ? 'accel accel0: ' : 'habanalabs hl0: ';
  }
  const name = /(ixgbe|igb|igc|fm10k|ice|i40e)\//.exec(file)?.[1] ?? driver;
  return `${name} ${address}${call.startsWith('net') ? ' eth0' : ''}: `;
}

/** What the macros of a driver put before the text. */
function inserted({ call, prefix, file }: KernelMessage, release: string): string {
  const tile = isFrom(release, '7.3') ? 'Tile0: ' : '';
  const gt: Readonly<Record<string, string>> = {
    drm_err: '[drm] *ERROR* ',
    drm_notice: '[drm] ',
    gt_notice: '[drm] GT0: ',
    gt_err: '[drm] *ERROR* GT0: ',
    gt_probe_error: '[drm] *ERROR* GT0: ',
    i915_probe_error: isFrom(release, '6.12') ? '[drm] *ERROR* ' : '',
    xe_gt_err: `[drm] *ERROR* ${tile}GT0: `,
    xe_gt_info: `[drm] ${tile}GT0: `,
    RAS_EVENT_LOG: '{7}',
    gaudi2_print_event: 'TPC0_AXI_ERR_RSP: ',
  };
  if (call.startsWith('mlx5_')) return 'print_health_info:458:(pid 0): ';
  // Amdgpu.h of these releases puts its name before each message.
  const isNamed = file.includes('/amdgpu/') && isFrom(release, '5.10') && !isFrom(release, '7.3');
  return `${isNamed ? 'amdgpu: ' : prefix}${gt[call] ?? ''}`;
}

function toLine(message: KernelMessage, release: string): string {
  const { format, values } = message;
  return beginning(message, release) + inserted(message, release) + expandFormat(format, values);
}

/** The row that the lines are of. */
function rowOf(lines: readonly string[]): string | undefined {
  const read = createMessageReader();
  const faults = lines.flatMap((line, index) => {
    const [text, below] = toFields(line);
    const record = parseRecord(`3,${index},${index * 1000},-;${text}\n${below}`);
    const message = record && read(record);
    return (message && findFault(message)?.id) ?? [];
  });
  return faults.at(-1);
}
function toFields(line: string): readonly [string, string] {
  const node = /^accel accel0: /.test(line) && ' SUBSYSTEM=accel\n DEVICE=c261:0\n';
  return node ? [line, node] : toRecord(line);
}

const rows = faultRows.filter(({ releases }) => releases);
const ofRow = (id: string, release: string) =>
  messages.filter((each) => each.row === id && each.releases.includes(release));

describe('the catalogue of drivers', () => {
  it('is compared with these releases', () => {
    const linux = '4.18 4.18.el8 5.4 5.10 5.14 5.15 6.1 6.8 6.12 7.3';
    expect(releases.join(' ')).toBe(`${linux} R515 R525 R535 R550 R570 R580 R590 R595`);
    const isCompared = ({ source, releases: all }: (typeof faultRows)[number]) =>
      all !== undefined || !source.includes('linux.git');
    expect(faultRows.filter((row) => !isCompared(row))).toEqual([]);
  });

  it.each(rows.map((row) => [row.id, row] as const))('has the releases of %s', (id, row) => {
    const family = row.releases?.[0].startsWith('R') ? branches : mainline;
    const [first = '', last = family.at(-1) ?? ''] = row.releases ?? [];
    const declared = family.filter((each) => isFrom(each, first) && isFrom(last, each));
    expect(family.filter((each) => ofRow(id, each).length > 0)).toEqual(declared);
    if (family === branches) return;
    const files = ofRow(id, last).map(({ file }) => row.source.endsWith(`/${file}`));
    expect(files).toContain(true);
  });

  it.each(releases)('reads each message of %s', (release) => {
    const unread = rows.flatMap(({ id }) => {
      const all = ofRow(id, release);
      const steps = all.filter(({ step }) => step !== undefined);
      const sequences = [...all.filter(({ step }) => step === undefined).map((each) => [each])];
      if (steps.length > 0) sequences.push(steps);
      return sequences
        .map((each) => each.map((message) => toLine(message, release)))
        .filter((lines) => rowOf(lines) !== id)
        .map((lines) => `${id}: ${lines.join(' | ')} -> ${rowOf(lines)}`);
    });
    expect(unread).toEqual([]);
  });

  it('has a row for each message', () => {
    expect(messages.filter(({ row }) => !rows.some(({ id }) => id === row))).toEqual([]);
  });
});
