// Which messages of the kernel are a fault of a device. Only messages of hardware that failed:
// what a program or a guest can cause by itself, such as Xid 13, 31 and 43, is not here.

import type { DriverMessage } from './kernel-record.ts';

export interface FaultRow {
  /** Kept in the agent's state. */
  readonly id: string;
  /** Drivers whose messages count; absent for what the kernel's core writes in their name. */
  readonly drivers?: readonly string[];
  /** In what follows the driver and the device in the message. */
  readonly pattern: RegExp;
  /** A device with a fatal fault is not offered; a warning is shown. */
  readonly severity: 'fatal' | 'warning';
  /** A clause that completes "The device at <address> ...". */
  readonly meaning: string;
  readonly nextStep: string;
  /** Where the message, its meaning and the step come from. */
  readonly source: string;
}

const linux = 'https://git.kernel.org/pub/scm/linux/kernel/git/torvalds/linux.git/tree';
const afterRepair =
  'The device is offered again after a reboot of the host, or after its removal and a rescan of the bus.';
const gpuReset = `Evacuate the host's servers on this GPU, and reset it or reboot the host. ${afterRepair}`;
const slot = `Check the slot, riser and power of the card, and power the host off and on. ${afterRepair}`;
const watch = 'Watch the device: it stays offered. Replace it if this returns.';

const nvidiaRows: readonly FaultRow[] = [
  xid(48, 'fatal', 'an uncorrectable ECC error', gpuReset),
  xid(63, 'warning', 'a memory row that is remapped at the next reset', 'Reset the GPU when free.'),
  xid(
    64,
    'fatal',
    'a memory row that could not be remapped',
    `Reset the GPU; replace it if this returns. ${afterRepair}`,
  ),
  xid(74, 'warning', 'an error of NVLink', `Check the GPU's NVLink connections. ${watch}`),
  xid(79, 'fatal', 'a GPU that has fallen off the bus', slot),
  xid(92, 'warning', 'a high rate of corrected ECC errors', watch),
  xid(94, 'warning', 'a contained ECC error', 'Reset the GPU when it is free.'),
  xid(95, 'fatal', 'an uncontained ECC error', gpuReset),
  xid(119, 'fatal', 'a timeout of its GSP', gpuReset),
  xid(120, 'fatal', 'an error of its GSP', gpuReset),
  xid(140, 'fatal', 'an unrecovered ECC error', gpuReset),
  xid(143, 'fatal', 'a failed initialisation', gpuReset),
  {
    ...xid(154, 'fatal', 'a request of its driver for a reset or a reboot', gpuReset),
    pattern: /^Xid 154, GPU recovery action changed .*to 0x[1-9a-f]/,
  },
  {
    id: 'nvidia-init',
    drivers: ['nvidia'],
    pattern: /^RmInitAdapter failed!/,
    severity: 'fatal',
    meaning: "could not be initialised by NVIDIA's driver (RmInitAdapter failed)",
    nextStep: gpuReset,
    source: 'https://docs.nvidia.com/deploy/gpu-debug-guidelines/index.html',
  },
  {
    id: 'sxid-fatal',
    drivers: ['nvidia-nvswitch'],
    pattern: /^SXid \d+, Fatal,/,
    severity: 'fatal',
    meaning: 'has had a fatal SXid in the kernel log',
    nextStep: `Stop the servers of its NVLink domain, and reset all its GPUs and switches. ${afterRepair}`,
    source: 'https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html',
  },
];

const pcieRows: readonly FaultRow[] = [
  {
    id: 'aer-fatal',
    pattern: /^(AER: )?PCIe Bus Error: severity=Uncorrect(ed|able) \(Fatal\)/,
    severity: 'fatal',
    meaning: 'has had a fatal PCIe error, which reset its link',
    nextStep: slot,
    source: `${linux}/drivers/pci/pcie/aer.c`,
  },
  {
    id: 'aer-nonfatal',
    pattern: /^(AER: )?PCIe Bus Error: severity=Uncorrect(ed|able) \(Non-Fatal\)/,
    severity: 'warning',
    meaning: 'has had an uncorrectable PCIe error',
    nextStep: watch,
    source: `${linux}/drivers/pci/pcie/aer.c`,
  },
  {
    id: 'pci-not-ready',
    pattern: /^not ready \d+ms after .{1,32}; giving up$/,
    severity: 'fatal',
    meaning: 'did not come back after a reset',
    nextStep: slot,
    source: `${linux}/drivers/pci/pci.c`,
  },
  {
    id: 'pci-inaccessible',
    pattern: /^Unable to change power state from \S+ to D0, device inaccessible$/,
    severity: 'fatal',
    meaning: 'does not answer on the bus (device inaccessible)',
    nextStep: slot,
    source: `${linux}/drivers/pci/pci.c`,
  },
];

const driverRows: readonly FaultRow[] = [
  {
    id: 'xe-wedged',
    drivers: ['xe'],
    pattern: /^\[drm\] \*ERROR\* CRITICAL: Xe has declared device \S+ as wedged\./,
    severity: 'fatal',
    meaning: 'was declared wedged by its driver xe',
    nextStep: `Evacuate its servers, and reset or rebind the card. ${afterRepair}`,
    source: `${linux}/drivers/gpu/drm/xe/xe_device.c`,
  },
  {
    id: 'xe-reset',
    drivers: ['xe'],
    pattern: /^\[drm\] (Tile\d+: )?GT\d+: reset started$/,
    severity: 'warning',
    meaning: 'was reset by its driver xe',
    nextStep: watch,
    source: `${linux}/drivers/gpu/drm/xe/xe_gt.c`,
  },
  {
    id: 'amdgpu-reset-failed',
    drivers: ['amdgpu'],
    pattern: /^(amdgpu: )?GPU reset( ?\(\d+\) failed| end with ret = -\d+)$/,
    severity: 'fatal',
    meaning: 'could not be reset by its driver amdgpu',
    nextStep: `Evacuate the host, and power it off and on. ${afterRepair}`,
    source: `${linux}/drivers/gpu/drm/amd/amdgpu/amdgpu_device.c`,
  },
  {
    id: 'amdgpu-reset',
    drivers: ['amdgpu'],
    pattern: /^(amdgpu: )?GPU reset begin!/,
    severity: 'warning',
    meaning: 'was reset by its driver amdgpu',
    nextStep: watch,
    source: `${linux}/drivers/gpu/drm/amd/amdgpu/amdgpu_device.c`,
  },
  {
    id: 'amdgpu-uncorrectable',
    drivers: ['amdgpu'],
    pattern: /\b\d+ (new )?uncorrectable hardware errors detected in /,
    severity: 'warning',
    meaning: 'has had uncorrectable errors (RAS)',
    nextStep: watch,
    source: `${linux}/drivers/gpu/drm/amd/amdgpu/amdgpu_ras.c`,
  },
  {
    id: 'nvme-disabled',
    drivers: ['nvme'],
    pattern: /^(Disabling device after reset|Removing after probe) failure/,
    severity: 'fatal',
    meaning: 'was given up by its driver nvme after a failed reset',
    nextStep: slot,
    source: `${linux}/drivers/nvme/host/pci.c`,
  },
  {
    id: 'nvme-down',
    drivers: ['nvme'],
    pattern: /^controller is down; will reset: /,
    severity: 'warning',
    meaning: 'was found down and reset by its driver nvme',
    nextStep: watch,
    source: `${linux}/drivers/nvme/host/pci.c`,
  },
  {
    id: 'nvme-timeout',
    drivers: ['nvme'],
    pattern: /^I\/O .*\btimeout, (reset|disable) controller$/,
    severity: 'warning',
    meaning: 'was reset by its driver nvme after a command without an answer',
    nextStep: watch,
    source: `${linux}/drivers/nvme/host/pci.c`,
  },
  {
    id: 'nvme-medium',
    drivers: ['nvme'],
    pattern: /^critical medium error, dev nvme/,
    severity: 'warning',
    meaning: 'has had an error of its medium that it could not correct',
    nextStep: watch,
    source: `${linux}/block/blk-core.c`,
  },
  {
    id: 'qat-fatal',
    drivers: ['dh895xcc', 'c3xxx', 'c62x', '4xxx', '420xx', '6xxx'],
    pattern: /^Fatal error, reset required$/,
    severity: 'fatal',
    meaning: 'has had a fatal error of QAT, which needs a reset',
    nextStep: `Reset the card, or reboot the host. ${afterRepair}`,
    source: `${linux}/drivers/crypto/intel/qat/qat_common/adf_isr.c`,
  },
];

export const faultRows: readonly FaultRow[] = [...nvidiaRows, ...pcieRows, ...driverRows];

/** The first row that the message is of. */
export function findFault({ driver, text }: DriverMessage): FaultRow | undefined {
  return faultRows.find(
    ({ drivers, pattern }) => (drivers?.includes(driver) ?? true) && pattern.test(text),
  );
}

function xid(
  number: number,
  severity: FaultRow['severity'],
  what: string,
  nextStep: string,
): FaultRow {
  return {
    id: `xid-${number}`,
    drivers: ['nvidia'],
    pattern: new RegExp(`^Xid ${number},`),
    severity,
    meaning: `has had Xid ${number} in the kernel log: ${what}`,
    nextStep,
    source: 'https://docs.nvidia.com/deploy/xid-errors/index.html',
  };
}
