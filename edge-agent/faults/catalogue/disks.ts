// What the kernel's driver of NVMe devices, and its block layer, write.

import { type FaultRow, linux, slot, watch } from './row.ts';

const nvme = `${linux}/drivers/nvme/host/pci.c`;

export const diskRows: readonly FaultRow[] = [
  {
    id: 'nvme-disabled',
    drivers: ['nvme'],
    pattern: /^(Disabling device after reset|Removing after probe) failure/,
    severity: 'fatal',
    meaning: 'was given up by its driver nvme after a failed reset',
    nextStep: slot,
    source: nvme,
    printedBy: 'nvme_reset_work, 6.0 and later; nvme_remove_dead_ctrl before',
  },
  {
    id: 'nvme-down',
    drivers: ['nvme'],
    pattern: /^controller is down; will reset: /,
    severity: 'warning',
    meaning: 'was found down and reset by its driver nvme',
    nextStep: watch,
    source: nvme,
    printedBy: 'nvme_warn_reset, 4.18 and later',
  },
  {
    id: 'nvme-timeout',
    drivers: ['nvme'],
    pattern: /^I\/O .*\btimeout, (reset|disable) controller$/,
    severity: 'warning',
    meaning: 'was reset by its driver nvme after a command without an answer',
    nextStep: watch,
    source: nvme,
    printedBy: 'nvme_timeout, 4.18 and later; with tag and opcode since 6.8',
  },
  {
    id: 'nvme-medium',
    drivers: ['nvme'],
    pattern: /^critical medium error, dev nvme/,
    severity: 'warning',
    meaning: 'has had an error of its medium that it could not correct',
    nextStep: watch,
    source: `${linux}/block/blk-core.c`,
    printedBy:
      'print_req_error in 4.18, blk_update_request up to 5.15, which names itself; blk_print_req_error since 5.16',
  },
];
