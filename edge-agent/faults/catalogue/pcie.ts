// What the kernel's core writes about PCIe, in the name of the driver that has the device.

import { type FaultRow, linux, slot, watch } from './row.ts';

const aer = `${linux}/drivers/pci/pcie/aer.c`;
const pci = `${linux}/drivers/pci/pci.c`;

export const pcieRows: readonly FaultRow[] = [
  {
    id: 'aer-fatal',
    pattern: /^(AER: )?PCIe Bus Error: severity=Uncorrect(ed|able) \(Fatal\)/,
    severity: 'fatal',
    meaning: 'has had a fatal PCIe error, which reset its link',
    nextStep: slot,
    reachesBelow: true,
    source: aer,
    printedBy: 'aer_print_error; "Uncorrected" up to 6.5, then "Uncorrectable"',
  },
  {
    id: 'aer-nonfatal',
    pattern: /^(AER: )?PCIe Bus Error: severity=Uncorrect(ed|able) \(Non-Fatal\)/,
    severity: 'warning',
    meaning: 'has had an uncorrectable PCIe error',
    nextStep: watch,
    source: aer,
    printedBy: 'aer_print_error, as aer-fatal',
  },
  {
    id: 'aer-firmware-fatal',
    pattern: /^firmware reports an uncorrectable error \(fatal\)$/,
    severity: 'fatal',
    meaning: 'has had a fatal PCIe error, which the firmware reported',
    nextStep: slot,
    reachesBelow: true,
    source: aer,
    printedBy: 'cper_print_aer, since 6.8 pci_print_aer: aer_status and aer_uncor_severity',
  },
  {
    id: 'aer-firmware-nonfatal',
    pattern: /^firmware reports an uncorrectable error \(non-fatal\)$/,
    severity: 'warning',
    meaning: 'has had an uncorrectable PCIe error, which the firmware reported',
    nextStep: watch,
    source: aer,
    printedBy: 'as aer-firmware-fatal',
  },
  {
    id: 'pcie-recovery-failed',
    // The kernel writes it also where a device works on: one of them has no handler of errors.
    pattern: /^(AER: |DPC: )?[Dd]evice recovery failed$/,
    severity: 'warning',
    meaning: 'could not be recovered after a PCIe error',
    nextStep: watch,
    reachesBelow: true,
    source: `${linux}/drivers/pci/pcie/err.c`,
    printedBy: 'pcie_do_recovery, at the port since 5.10; do_recovery of aerdrv_core.c in 4.18',
  },
  {
    id: 'pcie-contained',
    pattern: /^DPC:? containment event, status:/,
    severity: 'fatal',
    meaning: 'has had an error for which the hardware took down its link (DPC)',
    nextStep: slot,
    reachesBelow: true,
    source: `${linux}/drivers/pci/pcie/dpc.c`,
    printedBy:
      'dpc_process_error; by a service device up to 5.0, since 2025 with the source in words',
  },
  {
    id: 'pci-not-ready',
    pattern: /^not ready \d+ms after .{1,32}; giving up$/,
    severity: 'fatal',
    meaning: 'did not come back after a reset',
    nextStep: slot,
    source: pci,
    printedBy: 'pci_dev_wait, 4.17 and later',
  },
  {
    id: 'pci-inaccessible',
    pattern:
      /^(Unable to change power state from \S+ to D0, device inaccessible|can't change power state from \S+ to \S+ \(config space inaccessible\))$/,
    severity: 'fatal',
    meaning: 'does not answer on the bus (device inaccessible)',
    nextStep: slot,
    source: pci,
    printedBy: 'pci_power_up, 6.0 and later; pci_raw_set_power_state, 5.6 to 5.19',
  },
];
