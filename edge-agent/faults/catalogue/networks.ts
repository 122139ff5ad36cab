// What the kernel's drivers of network cards write.

import { afterRepair, type FaultRow, linux, restart, slot, watch } from './row.ts';

const health = `${linux}/drivers/net/ethernet/mellanox/mlx5/core/health.c`;
const commands = `${linux}/drivers/net/ethernet/mellanox/mlx5/core/cmd.c`;
const mlx4 = `${linux}/drivers/net/ethernet/mellanox/mlx4`;
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
    id: 'nic-reset-failed',
    drivers: ['ice', 'i40e'],
    pattern:
      /^(reset \d+ failed$|Rebuild failed, unload and reload driver$|PF reset failed, |Initial pf_reset failed: |Rebuild AdminQ failed, )/,
    severity: 'fatal',
    meaning: 'could not be reset, or started again after a reset, by its driver',
    nextStep: cardReset,
    source: `${intel}/ice/ice_main.c`,
    releases: ['4.18'],
    printedBy: 'ice_do_reset, ice_rebuild, i40e_reset, i40e_rebuild, up to 5.4 i40e_probe',
  },
  {
    id: 'nic-stuck',
    drivers: ['ice', 'i40e'],
    // The first form is the older one of i40e: releases with the second take the interface down.
    pattern: /^tx_timeout recovery unsuccessful($|, device is in (non-|un)recoverable state\.$)/,
    severity: 'fatal',
    meaning: 'did not transmit after three kinds of reset by its driver',
    nextStep: cardReset,
    source: `${intel}/i40e/i40e_main.c`,
    releases: ['4.18'],
    printedBy: 'i40e_tx_timeout, since 5.4 ice_tx_timeout',
  },
  {
    id: 'nic-hot',
    drivers: ['ixgbe', 'igb'],
    pattern:
      /^(Network adapter has been stopped because it has over heated\.|The network adapter was stopped because it overheated$)/,
    severity: 'fatal',
    meaning: 'was stopped because it overheated, by its driver',
    nextStep: `Check the fans and the air of the host, and reboot it. Replace the card if this returns. ${afterRepair}`,
    source: `${intel}/ixgbe/ixgbe_main.c`,
    releases: ['4.18'],
    printedBy: 'ixgbe_check_overtemp_event, ixgbe_check_overtemp_subtask, igb_watchdog_task',
  },
  {
    id: 'nic-fan',
    drivers: ['ixgbe'],
    pattern: /^Fan has stopped, replace the adapter$/,
    severity: 'fatal',
    meaning: 'has a fan that stopped, by its driver ixgbe',
    nextStep: `Replace the card. ${afterRepair}`,
    source: `${intel}/ixgbe/ixgbe_main.c`,
    releases: ['4.18'],
    printedBy: 'ixgbe_check_fan_failure, ixgbe_probe',
  },
  {
    id: 'mlx4-reset',
    drivers: ['mlx4_core'],
    pattern: /^(Internal error detected:|device is going to be reset)$/,
    severity: 'warning',
    meaning: 'was reset after an error by its driver mlx4_core',
    nextStep: watch,
    source: `${mlx4}/catas.c`,
    releases: ['4.18'],
    printedBy: 'dump_err_buf, mlx4_enter_error_state',
  },
  {
    id: 'mlx4-reset-failed',
    drivers: ['mlx4_core'],
    pattern: /^(Fail to reset HCA|PCI device did not come back after reset, aborting)$/,
    severity: 'fatal',
    meaning: 'could not be reset by its driver mlx4_core',
    nextStep: restart,
    source: `${mlx4}/catas.c`,
    releases: ['4.18'],
    printedBy: 'mlx4_reset_master, mlx4_reset',
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
