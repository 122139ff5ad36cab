// What the kernel's driver of NVMe devices, and its block layer, write.

import { type FaultRow, linux, slot, watch } from './row.ts';

const nvme = `${linux}/drivers/nvme/host/pci.c`;

export const diskRows: readonly FaultRow[] = [
  {
    id: 'nvme-disabled',
    drivers: ['nvme'],
    // EBUSY (-16) is the driver's own state, such as that of a disk which it is taken from.
    pattern: /^(Disabling device after reset|Removing after probe) failure(?!( status)?: -16$)/,
    severity: 'fatal',
    meaning: 'was given up by its driver nvme after a failed reset',
    nextStep: slot,
    source: nvme,
    releases: ['4.18'],
    printedBy: 'nvme_reset_work; nvme_remove_dead_ctrl in 4.18',
  },
  {
    id: 'nvme-not-ready',
    drivers: ['nvme'],
    pattern: /^Device not ready; aborting (initialisation|reset)\b/,
    severity: 'fatal',
    meaning: 'did not get ready for its driver nvme',
    nextStep: slot,
    source: `${linux}/drivers/nvme/host/core.c`,
    releases: ['4.18'],
    printedBy: 'nvme_wait_ready',
  },
  {
    id: 'nvme-down',
    drivers: ['nvme'],
    pattern: /^controller is down; will reset: /,
    severity: 'warning',
    meaning: 'was found down and reset by its driver nvme',
    nextStep: watch,
    source: nvme,
    releases: ['4.18'],
    printedBy: 'nvme_warn_reset',
  },
  {
    id: 'nvme-timeout',
    drivers: ['nvme'],
    pattern: /^I\/O .*\btimeout, (reset|disable) controller$/,
    severity: 'warning',
    meaning: 'was reset by its driver nvme after a command without an answer',
    nextStep: watch,
    source: nvme,
    releases: ['4.18'],
    printedBy: 'nvme_timeout, with tag and opcode since 6.8',
  },
  {
    id: 'nvme-medium',
    drivers: ['nvme'],
    pattern: /^critical medium error, dev nvme/,
    severity: 'warning',
    meaning: 'has had an error of its medium that it could not correct',
    nextStep: watch,
    source: `${linux}/block/blk-mq.c`,
    releases: ['4.18'],
    printedBy:
      'blk_print_req_error; up to 5.15 print_req_error of blk-core.c, which names a function first',
  },
];
