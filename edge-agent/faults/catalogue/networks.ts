// What the kernel's drivers of network cards write.

import { afterRepair, type FaultRow, linux, slot, watch } from './row.ts';

const health = `${linux}/drivers/net/ethernet/mellanox/mlx5/core/health.c`;
const commands = `${linux}/drivers/net/ethernet/mellanox/mlx5/core/cmd.c`;
const intel = `${linux}/drivers/net/ethernet/intel`;
const cardReset = `Evacuate its servers, and reset the card or reboot the host. ${afterRepair}`;
const mlx5 = ['mlx5_core'];

export const networkRows: readonly FaultRow[] = [
  {
    id: 'mlx5-health',
    drivers: mlx5,
    pattern: /^(\w+:\d+:\(pid \d+\): )?device's health compromised - reached miss count/,
    severity: 'fatal',
    meaning: 'has firmware that stopped, by its driver mlx5_core',
    nextStep: cardReset,
    source: health,
    releases: ['4.18'],
    printedBy: 'poll_health',
  },
  {
    id: 'mlx5-fatal',
    drivers: mlx5,
    // Syndromes of a severity below an error, such as a high temperature (0x10), have other rows.
    pattern:
      /^(\w+:\d+:\(pid \d+\): )?(Fatal error \d+ detected|synd 0x[1789abdef]: |Health issue observed, (?!High temperature).*, severity\([0-3]\)|health recovery (failed|flow aborted))/,
    severity: 'fatal',
    meaning: 'has had an error of its hardware or firmware, by its driver mlx5_core',
    nextStep: cardReset,
    source: health,
    releases: ['4.18'],
    printedBy: 'print_health_info, poll_health, mlx5_health_try_recover',
  },
  {
    id: 'mlx5-hot',
    drivers: mlx5,
    pattern:
      /^(\w+:\d+:\(pid \d+\): )?(synd 0x10: |Health issue observed, High temperature|High temperature on sensors with bit set)/,
    severity: 'warning',
    meaning: 'has a high temperature, by its driver mlx5_core',
    nextStep: "Check the fans and the air of the host, and the card's heat sink.",
    source: health,
    releases: ['4.18'],
    printedBy: 'print_health_info, and temp_warn of events.c',
  },
  {
    id: 'mlx5-init',
    drivers: mlx5,
    pattern:
      /^(\w+:\d+:\(pid \d+\): )?(Firmware over \d+ MS in (pre-)?initializing state, aborting|(ENABLE_HCA|INIT_HCA)\(0x\w+\) timeout\.)/,
    severity: 'fatal',
    meaning: 'could not be started by its driver mlx5_core',
    nextStep: cardReset,
    source: `${linux}/drivers/net/ethernet/mellanox/mlx5/core/main.c`,
    releases: ['4.18'],
    printedBy: 'wait_func; mlx5_load_one and its successors of main.c, in 6.12 wait_fw_init',
  },
  {
    id: 'mlx5-timeout',
    drivers: mlx5,
    pattern:
      /^(\w+:\d+:\(pid \d+\): )?(cmd\[\d+\]: )?\w+\(0x\w+\) (Async, )?timeout\. Will cause a leak of a command resource/,
    severity: 'warning',
    meaning: 'did not answer a command of its driver mlx5_core',
    nextStep: watch,
    source: commands,
    releases: ['4.18'],
    printedBy: 'wait_func, cb_timeout_handler',
  },
  {
    id: 'nic-lost',
    drivers: ['ixgbe', 'igb', 'igc', 'fm10k'],
    pattern: /^(Adapter removed|PCIe link lost(, device now detached)?)$/,
    severity: 'fatal',
    meaning: 'was lost from the bus, by its driver',
    nextStep: slot,
    source: `${intel}/ixgbe/ixgbe_main.c`,
    releases: ['4.18'],
    printedBy: 'ixgbe_remove_adapter, igb_rd32, igc_rd32, fm10k_read_reg',
  },
  {
    id: 'nic-recovery',
    drivers: ['ice', 'i40e', 'ixgbe'],
    pattern:
      /^(Firmware recovery mode detected\. Limiting functionality|Entering recovery mode due to repeated FW resets)\./,
    severity: 'fatal',
    meaning: 'is in the recovery mode of its firmware',
    nextStep: `Write the firmware of the card anew. ${afterRepair}`,
    source: `${intel}/ice/ice_main.c`,
    releases: ['5.4'],
    printedBy:
      'ice_probe_recovery_mode in 7.3, i40e_check_recovery_mode, i40e_handle_resets, ixgbe_check_fw_error',
  },
  {
    id: 'ice-rebuild',
    drivers: ['ice'],
    pattern: /^Rebuild failed, unload and reload driver$/,
    severity: 'fatal',
    meaning: 'could not be started again after a reset, by its driver ice',
    nextStep: cardReset,
    source: `${intel}/ice/ice_main.c`,
    releases: ['5.4'],
    printedBy: 'ice_rebuild',
  },
  {
    id: 'bnxt-firmware',
    drivers: ['bnxt_en'],
    pattern: /^Firmware (reset aborted|not responding, status: )/,
    severity: 'fatal',
    meaning: 'has firmware that does not answer, by its driver bnxt_en',
    nextStep: cardReset,
    source: `${linux}/drivers/net/ethernet/broadcom/bnxt/bnxt.c`,
    releases: ['5.4'],
    printedBy: 'bnxt_fw_reset, bnxt_fw_reset_task, bnxt_try_recover_fw',
  },
];
