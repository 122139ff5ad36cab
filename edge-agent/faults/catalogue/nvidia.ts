// What NVIDIA's drivers write beside the Xids.

import { afterRepair, type FaultRow, slot } from './row.ts';
import { gpuReset, xidRows } from './xids.ts';

export const nvidiaRows: readonly FaultRow[] = [
  ...xidRows,
  {
    id: 'nvidia-init',
    drivers: ['nvidia'],
    pattern: /^(RmInitAdapter failed!|rm_init_adapter failed, device minor number )/,
    severity: 'fatal',
    meaning: "could not be initialised by NVIDIA's driver (RmInitAdapter failed)",
    nextStep: gpuReset,
    source: 'https://docs.nvidia.com/deploy/gpu-debug-guidelines/index.html',
    printedBy: 'nv_start_device, RmInitAdapter',
    releases: ['R515'],
  },
  {
    id: 'nvidia-lost',
    drivers: ['nvidia'],
    pattern: /^(GPU has fallen off the bus|has fallen off the bus and is not responding)/,
    severity: 'fatal',
    meaning: "has fallen off the bus, by NVIDIA's driver",
    nextStep: slot,
    source: 'https://github.com/NVIDIA/open-gpu-kernel-modules/tree/main/kernel-open/nvidia',
    printedBy: 'osHandleGpuLost; at the probe rm_is_supported_device, without an Xid',
    releases: ['R515'],
  },
  {
    id: 'sxid-fatal',
    drivers: ['nvidia-nvswitch'],
    pattern: /^SXid \d+, Fatal,/,
    severity: 'fatal',
    meaning: 'has had a fatal SXid in the kernel log',
    nextStep: `Stop the servers of its NVLink domain, and reset all its GPUs and switches. ${afterRepair}`,
    source: 'https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html',
    reaches: 'linked',
    printedBy: 'NVSWITCH_REPORT_FATAL and its like',
    releases: ['R515'],
  },
];
