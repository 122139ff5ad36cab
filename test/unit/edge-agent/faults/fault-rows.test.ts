import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { faultRows, findFault } from '#agent/faults/fault-rows.ts';
import { parseRecord, readMessage } from '#agent/faults/kernel/kernel-record.ts';

/** As /dev/kmsg gives it. */
function aRecord(text: string, device?: string, subsystem = 'pci', priority = 3): string {
  const fields = device === undefined ? '' : ` SUBSYSTEM=${subsystem}\n DEVICE=${device}\n`;
  return `${priority},1287,5140900123,-,caller=T112;${text}\n${fields}`;
}

function faultIn(record: string): string | undefined {
  const parsed = parseRecord(record);
  const message = parsed && readMessage(parsed);
  return message && findFault(message)?.id;
}

const at = (address: string) => [`+pci:${address}`] as const;
const nvme = ['c241:0', 'nvme'] as const;

describe('the table of faults', () => {
  // Lines of real hosts, as people have posted them.
  it.each([
    [
      'xid-79',
      "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    ],
    ['xid-79', 'NVRM: Xid (PCI:0000:01:00): 79, pid=0, GPU has fallen off the bus.'],
    [
      'xid-63',
      'NVRM: Xid (PCI:0000:10:1c): 63, pid=1896, Row Remapper: New row marked for remapping, reset gpu to activate.',
    ],
    [
      'xid-154',
      'NVRM: Xid (PCI:0000:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)',
    ],
    ['xid-94', "NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid='<unknown>', Contained: SM"],
    ['nvidia-init', 'NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x26:0xffff:1474)'],
    [
      'sxid-fatal',
      'nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 24007, Fatal, Link 28 sourcetrack timeout error (First)',
    ],
    [
      'aer-fatal',
      'nvme 0000:01:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)',
      ...at('0000:01:00.0'),
    ],
    [
      'aer-fatal',
      'igb 0000:02:00.0: AER: PCIe Bus Error: severity=Uncorrected (Fatal), type=Inaccessible, (Unregistered Agent ID)',
      ...at('0000:02:00.0'),
    ],
    [
      'aer-nonfatal',
      'vfio-pci 0000:3b:00.0: AER: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Transaction Layer, (Requester ID)',
      ...at('0000:3b:00.0'),
    ],
    [
      'pci-not-ready',
      'vfio-pci 0000:3b:00.0: not ready 65535ms after bus reset; giving up',
      ...at('0000:3b:00.0'),
    ],
    [
      'pci-inaccessible',
      'nvme 0000:04:00.0: Unable to change power state from D3cold to D0, device inaccessible',
      ...at('0000:04:00.0'),
    ],
    [
      'xe-wedged',
      'xe 0000:03:00.0: [drm] *ERROR* CRITICAL: Xe has declared device 0000:03:00.0 as wedged.\\x0aIOCTLs and executions are blocked.',
      ...at('0000:03:00.0'),
    ],
    ['xe-reset', 'xe 0000:03:00.0: [drm] GT0: reset started', ...at('0000:03:00.0')],
    ['amdgpu-reset', 'amdgpu 0000:e3:00.0: amdgpu: GPU reset begin!', ...at('0000:e3:00.0')],
    [
      'amdgpu-reset-failed',
      'amdgpu 0000:04:00.0: amdgpu: GPU reset(2) failed',
      ...at('0000:04:00.0'),
    ],
    [
      'amdgpu-reset-failed',
      'amdgpu 0000:04:00.0: amdgpu: GPU reset end with ret = -110',
      ...at('0000:04:00.0'),
    ],
    [
      'nvme-down',
      'nvme nvme2: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10',
      ...nvme,
    ],
    ['nvme-disabled', 'nvme nvme2: Disabling device after reset failure: -19', ...nvme],
    ['nvme-timeout', 'nvme nvme0: I/O 256 QID 1 timeout, reset controller', ...nvme],
    [
      'nvme-medium',
      'critical medium error, dev nvme0n1, sector 672 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2',
    ],
    ['qat-fatal', '4xxx 0000:6b:00.0: Fatal error, reset required', ...at('0000:6b:00.0')],
  ])('has %s of %s', (fault, text, device?: string, subsystem?: string) => {
    expect(faultIn(aRecord(text, device, subsystem))).toBe(fault);
  });

  it.each([
    ['an Xid of an application', 'NVRM: Xid (PCI:0000:01:00): 31, pid=1, name=a, MMU Fault'],
    [
      'an action that is over',
      'NVRM: Xid (PCI:0000:01:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)',
    ],
    [
      'an SXid that is not fatal',
      'nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20009, Non-fatal, Link 04 RX Short Error Rate',
    ],
    [
      'a corrected error',
      'nvme 0000:01:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)',
      '+pci:0000:01:00.0',
    ],
    [
      'a fault of another driver',
      'snd_hda_intel 0000:03:00.0: Fatal error, reset required',
      '+pci:0000:03:00.0',
    ],
    [
      'a message whose device is another one',
      '4xxx 0000:6b:00.0: Fatal error, reset required',
      '+pci:0000:70:00.0',
    ],
    ['an error of a disk that is not NVMe', 'critical medium error, dev sda, sector 672'],
    ['a command that a program sent', 'critical target error, dev nvme0n1, sector 672'],
    ['a message about no device', '4xxx 0000:6b:00.0: Fatal error, reset required'],
    [
      'a message of a driver that quotes an Xid',
      "usb 1-1: Product: NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>'",
      '+usb:1-1',
      'usb',
    ],
    ['a name of a process', "a.out[7]: NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>'"],
  ])('has no fault for %s', (_, text, device?: string, subsystem?: string) => {
    expect(faultIn(aRecord(text, device, subsystem))).toBeUndefined();
  });

  it('has no fault for what a program wrote, whatever its level', () => {
    const xid = 'NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.';
    expect(faultIn(aRecord(xid))).toBe('xid-79');
    // LOG_USER and LOG_LOCAL7.
    for (const facility of [1, 23]) {
      expect(faultIn(aRecord(xid, undefined, undefined, facility * 8 + 3))).toBeUndefined();
    }
  });

  it('takes no line below the message for its device that the message has itself', () => {
    const text = '4xxx 0000:6b:00.0: Fatal error, reset required';
    expect(faultIn(aRecord(`${text}\\x0a SUBSYSTEM=pci\\x0a DEVICE=+pci:0000:6b:00.0`))).toBe(
      undefined,
    );
  });

  it.each(['', ';', '3,1', 'x'.repeat(9000), '3,1,2,c;part', '\u0000'])(
    'takes %j for no record',
    (text) => {
      expect(parseRecord(text)).toBeUndefined();
    },
  );

  it('has texts that a report takes, and one row for an id', () => {
    for (const { meaning, nextStep, source } of faultRows) {
      expect([meaning.length < 256, nextStep.length < 256]).toEqual([true, true]);
      expect(nextStep).toMatch(/^[A-Z].*\.$/);
      expect(source).toMatch(/^https:/);
    }
    expect(new Set(faultRows.map(({ id }) => id)).size).toBe(faultRows.length);
  });
});

describe('the catalogue on its page', () => {
  it('has each row of the table, with its severity and meaning', () => {
    const page = readFileSync('edge-agent/faults/README.md', 'utf8');
    const listed = [...page.matchAll(/^\| `([a-z0-9-]+)` \| (\w+) \| ([^|]+) \|/gm)];
    expect(listed.map(([, id, severity, meaning]) => ({ id, severity, meaning }))).toEqual(
      faultRows.map(({ id, severity, meaning }) => ({ id, severity, meaning })),
    );
  });
});
