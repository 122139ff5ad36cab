// Lines of kernel logs that people have posted, by drivers of other vendors than NVIDIA.

import { describe, it } from 'vitest';
import {
  aCard,
  aDisk,
  aGpu,
  expectStates,
  issues,
  type PublicLog,
} from '#test/support/faults/public-log.ts';

const gpus: readonly PublicLog[] = [
  {
    url: `${issues}/ValveSoftware/SteamOS/issues/2802`,
    devices: [aGpu('0000:03:00.0', 'amdgpu', '1002:7480')],
    lines: [
      'amdgpu 0000:03:00.0: ring gfx_0.0.0 timeout, signaled seq=10045651, emitted seq=10045655',
      'amdgpu 0000:03:00.0: MES failed to respond to msg=RESET',
    ],
    states: ['degraded'],
  },
  {
    url: `${issues}/ROCm/legacy-rocm-build/issues/6018`,
    devices: [aGpu('0000:c5:00.0', 'amdgpu', '1002:1900')],
    lines: ['amdgpu 0000:c5:00.0: amdgpu: GPU reset begin!. Source:  3'],
    states: ['degraded'],
  },
  {
    // No line before the reset names a device.
    url: `${issues}/ROCm/legacy-rocm-build/issues/2533`,
    devices: [aGpu('0000:0a:00.0', 'amdgpu', '1002:744c')],
    lines: [
      '[drm:mes_v11_0_submit_pkt_and_poll_completion.constprop.0 [amdgpu]] *ERROR* MES failed to response msg=3',
      'amdgpu: MES might be in unrecoverable state, issue a GPU reset',
    ],
    states: [undefined],
  },
  {
    url: `${issues}/isc30/ryzen-gpu-passthrough-proxmox/issues/68`,
    devices: [aGpu('0000:01:00.0', 'amdgpu', '1002:1900')],
    lines: [
      'amdgpu 0000:01:00.0: amdgpu: PSP firmware loading failed',
      'amdgpu 0000:01:00.0: amdgpu: Fatal error during GPU init',
      'amdgpu 0000:01:00.0: amdgpu: amdgpu: finishing device.',
    ],
    states: ['unhealthy'],
  },
  {
    // One ring was reset: the others went on.
    url: `${issues}/ROCm/legacy-rocm-build/issues/5997`,
    devices: [aGpu('0000:0c:00.0', 'amdgpu', '1002:744c')],
    lines: [
      'amdgpu 0000:0c:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=1036139, emitted seq=1036141',
      'amdgpu 0000:0c:00.0: amdgpu: Starting gfx_0.0.0 ring reset',
      'amdgpu 0000:0c:00.0: amdgpu: Ring gfx_0.0.0 reset succeeded',
      'amdgpu 0000:0c:00.0: [drm] device wedged, but recovered through reset',
    ],
    states: [undefined],
  },
  {
    url: `${issues}/CachyOS/linux-cachyos/issues/892`,
    devices: [aGpu('0000:00:02.0', 'xe', '8086:64a0')],
    lines: [
      'xe 0000:00:02.0: [drm] Tile0: GT0: reset started',
      'xe 0000:00:02.0: [drm] *ERROR* Tile0: GT0: failed to clear GRDOM_FULL (-ETIMEDOUT)',
      'xe 0000:00:02.0: [drm] *ERROR* Tile0: GT0: reset failed (-ETIMEDOUT)',
    ],
    states: ['unhealthy'],
  },
  {
    url: `${issues}/thesofproject/sof-test/pull/1104`,
    devices: [aGpu('0000:00:02.0', 'i915', '8086:7d55')],
    lines: [
      'i915 0000:00:02.0: [drm] *ERROR* GT0: GuC initialization failed -ENXIO',
      'i915 0000:00:02.0: [drm] *ERROR* GT0: Failed to initialize GPU, declaring it wedged!',
    ],
    states: ['unhealthy'],
  },
  {
    url: `${issues}/intel/media-driver/issues/1165`,
    devices: [aGpu('0000:01:00.0', 'i915', '8086:3e92')],
    lines: [
      'i915 0000:01:00.0: Failed to program MOCS registers; expect performance issues.',
      'i915 0000:01:00.0: Failed to idle engines, declaring wedged!',
      'i915 0000:01:00.0: Failed to initialize GPU, declaring it wedged!',
    ],
    states: ['unhealthy'],
  },
  {
    url: `${issues}/strongtz/i915-sriov-dkms/issues/182`,
    devices: [aGpu('0000:00:02.0', 'i915', '8086:a780')],
    lines: [
      'i915 0000:00:02.0: Enabled 7 VFs',
      'i915 0000:00:02.0: VF5 FLR',
      'i915 0000:00:02.7: [drm] PMU not supported for this GPU.',
    ],
    states: [undefined],
  },
  {
    url: `${issues}/HabanaAI/Setup_and_Install/issues/1`,
    devices: [
      aCard('0000:1a:00.0', undefined, '1da3:1000', '120000'),
      aCard('0000:19:00.0', 'habanalabs', '1da3:1000', '120000'),
    ],
    lines: [
      'habanalabs hl1: Successfully loaded firmware to device',
      'habanalabs hl2: Failed to communicate with Device CPU (CPU-CP timeout)',
      'habanalabs hl2: failed to initialize the H/W',
      'habanalabs 0000:1a:00.0: Failed to initialize hl2. Device is NOT usable !',
    ],
    states: ['unhealthy', undefined],
  },
  {
    url: 'linux-kernel, 2020-08-23: habanalabs: goya: make use of dma_mmap_coherent',
    devices: [aCard('0000:1a:00.0', 'habanalabs', '1da3:0001', '120000')],
    lines: ['habanalabs hl0: mapping CB:', 'habanalabs hl0:   vm_flags       == 0x42644fb'],
    states: [undefined],
  },
  {
    url: `${issues}/Xilinx/XRT/pull/3720`,
    devices: [aCard('0000:65:00.0', 'xclmgmt', '10ee:5020', '120000')],
    lines: [
      'xclmgmt 0000:65:00.0: firewall.m.11534336 ffff898cbadbbc10 check_firewall: AXI Firewall 2 tripped, status: 0x2, bar offset 0x102000, resource ep_firewall_ctrl_mgmt_00 1 1 2 axi_firewall',
    ],
    states: [undefined],
  },
  {
    url: `${issues}/intel/QAT_Engine/issues/341`,
    devices: [aCard('0000:6b:00.0', '4xxx', '8086:4940', '0b4000')],
    lines: [
      '4xxx 0000:6b:00.0: qat_dev0 started 9 acceleration engines',
      'QAT: Could not find a device on node 1',
      'QAT: Invalid ioctl 1074028817',
    ],
    states: [undefined],
  },
  {
    url: `${issues}/clearlinux/distribution/issues/2907`,
    devices: [aGpu('0000:00:02.0', 'i915', '8086:46a6')],
    lines: [
      'i915 0000:00:02.0: [drm] *ERROR* rcs0 reset request timed out: {request: 00000001, RESET_CTL: 00000001}',
      'i915 0000:00:02.0: [drm] Resetting chip for GuC failed to reset engine mask=0x1',
      'i915 0000:00:02.0: [drm] GPU HANG: ecode 12:1:0020fffe, in xdg-desktop-por [1676]',
    ],
    states: ['degraded'],
  },
  {
    url: `${issues}/sonic-net/sonic-buildimage/issues/14588`,
    devices: [aCard('0000:01:00.0', undefined, '8086:19e2', '0b4000')],
    lines: [
      'QAT: failed to get device out of reset',
      'c3xxx 0000:01:00.0: qat_hal_clr_reset error',
      'c3xxx 0000:01:00.0: Failed to initialise Acceleration Engine',
    ],
    states: ['unhealthy'],
  },
  {
    url: `${issues}/intel/QAT_Engine/issues/68`,
    devices: [aCard('0000:02:00.0', undefined, '8086:0435', '0b4000')],
    lines: [
      'dh895xcc 0000:02:00.0: qat_dev0 started 12 acceleration engines',
      'dh895xcc 0000:02:00.0: Failed to send init message',
      'dh895xcc 0000:02:00.0: Resetting device qat_dev0',
    ],
    states: ['unhealthy'],
  },
  {
    url: `${issues}/vllm-project/vllm/issues/41663`,
    devices: [aGpu('0000:64:00.0', 'xe', '8086:e223')],
    lines: [
      'xe 0000:64:00.0: [drm] Xe device coredump has been created',
      'xe 0000:64:00.0: [drm] Check your /sys/class/drm/card2/device/devcoredump/data',
      'xe 0000:64:00.0: [drm] Xe device coredump has been deleted.',
    ],
    states: [undefined],
  },
  {
    // The kernel's core writes it for each failed probe, also for one without memory.
    url: `${issues}/NixOS/nixpkgs/issues/448998`,
    devices: [aCard('0000:09:00.0', undefined, '8086:e20b', '030000')],
    lines: ['xe 0000:09:00.0: probe with driver xe failed with error -105'],
    states: [undefined],
  },
];

const networks: readonly PublicLog[] = [
  {
    url: `${issues}/charmplusplus/charm/issues/2635`,
    devices: [aCard('0000:5e:00.0', 'mlx5_core', '15b3:101b')],
    lines: [
      "mlx5_core 0000:5e:00.0: device's health compromised - reached miss count",
      'mlx5_core 0000:5e:00.0: assert_exit_ptr 0x20a4996c',
      'mlx5_core 0000:5e:00.0: synd 0x7: irisc not responding',
    ],
    states: ['unhealthy'],
  },
  {
    // Another build of the driver starts the card.
    url: `${issues}/pocopico/rp-ext/issues/129`,
    devices: [aCard('0000:01:00.0', undefined, '15b3:1015')],
    lines: [
      'mlx5_core 0000:01:00.0: firmware version: 14.32.1010',
      'mlx5_core 0000:01:00.0: handle_hca_cap failed',
      'mlx5_core 0000:01:00.0: mlx5_load_one failed with error code -22',
    ],
    states: [undefined],
  },
  {
    url: `${issues}/PeterSuh-Q3/tinycore-redpill/issues/9`,
    devices: [aCard('0000:03:00.0', undefined, '15b3:1015')],
    lines: [
      'mlx5_core 0000:03:00.0: 0000:03:00.0:handle_hca_cap:438:(pid 6016): log_max_qp value in current profile is 18, changing it to HCA capability limit (17)',
      'mlx5_core 0000:03:00.0: handle_hca_cap failed',
    ],
    states: [undefined],
  },
  {
    url: `${issues}/ublue-os/bazzite/issues/5337`,
    devices: [aCard('0000:0a:00.0', 'igc', '8086:15f3')],
    lines: [
      'igc 0000:0a:00.0 eno1: PCIe link lost, device now detached',
      'igc: Failed to read reg 0xc030!',
    ],
    states: ['unhealthy'],
  },
  {
    url: `${issues}/pop-os/linux/issues/185`,
    devices: [aCard('0000:02:00.0', 'igc', '8086:15f3')],
    lines: ['igc 0000:02:00.0 enp2s0: PCIe link lost, device now detached'],
    states: ['unhealthy'],
  },
  {
    url: `${issues}/serhepopovych/ixgbe/issues/6`,
    devices: [aCard('0000:09:00.0', undefined, '8086:10fb')],
    lines: [
      'ixgbe 0000:09:00.0 0000:09:00.0 (uninitialized): Packet Buffer(0) can not provide enoughheadroom to support flow control.Decrease MTU or number of traffic classes',
      'ixgbe 0000:09:00.0: Adapter removed',
      'ixgbe 0000:09:00.0: HW Init failed: -5',
    ],
    states: ['unhealthy'],
  },
  {
    url: `${issues}/raspberrypi/linux/issues/6832`,
    devices: [aCard('0001:04:00.0', 'igc', '8086:125c')],
    lines: [
      'igc 0001:04:00.0: PCIe PTM not supported by PCIe bus/controller',
      'igc 0001:04:00.0 (unnamed net_device) (uninitialized): PHC added',
    ],
    states: [undefined],
  },
  {
    url: `${issues}/lxc/incus-os/issues/1305`,
    devices: [aCard('0000:01:00.0', 'ice', '8086:159b')],
    lines: [
      'ice 0000:01:00.0: Direct firmware load for intel/ice/ddp/ice.pkg failed with error -2',
      'ice 0000:01:00.0: The DDP package file was not found or could not be read. Entering Safe Mode',
    ],
    states: [undefined],
  },
  {
    url: 'intel-wired-lan, 2023-12-12: ice: Fix PF with enabled XDP going no-carrier after reset',
    devices: [aCard('0000:b1:00.0', 'ice', '8086:1592')],
    lines: [
      'ice 0000:b1:00.0 ens801f0np0: Failed to open VSI 0x0006 on switch 0x0001',
      'ice 0000:b1:00.0: PF VSI rebuild failed: -22',
      'ice 0000:b1:00.0: Rebuild failed, unload and reload driver',
    ],
    states: ['unhealthy'],
  },
  {
    url: 'stable, 2026-05-20: ice: fix NULL pointer dereference in ice_reset_all_vfs()',
    devices: [aCard('0000:13:00.0', 'ice', '8086:159b'), aCard('0000:13:00.1', 'ice', '8086:159b')],
    lines: [
      'ice 0000:13:00.0: firmware recommends not updating fw.mgmt, as it may result in a downgrade. continuing anyways',
      'ice 0000:13:00.1: ice_init_nvm failed -5',
      'ice 0000:13:00.1: Rebuild failed, unload and reload driver',
    ],
    states: [undefined, 'unhealthy'],
  },
  {
    // A lost card reads as all ones, also where its firmware says whether it recovers.
    url: 'intel-wired-lan, 2020-01-24: ixgbe: "Warning firmware error detected FWSM: 0xFFFFFFFF"',
    devices: [aCard('0000:01:00.0', 'ixgbe', '8086:1563')],
    lines: [
      'ixgbe 0000:01:00.0: Adapter removed',
      'ixgbe 0000:01:00.0: Warning firmware error detected FWSM: 0xFFFFFFFF',
      'ixgbe 0000:01:00.0: Firmware recovery mode detected. Limiting functionality. Refer to the Intel(R) Ethernet Adapters and Devices User Guide for details on firmware recovery mode.',
    ],
    states: ['unhealthy'],
  },
  {
    // A queue that hangs has the driver reset the function, which goes on.
    url: `${issues}/ntop/PF_RING/issues/74`,
    devices: [aCard('0000:04:00.0', 'i40e', '8086:1583')],
    lines: [
      'i40e 0000:04:00.0 cap0: tx_timeout recovery level 1, hung_queue 0',
      'i40e 0000:04:00.0 cap0: tx_timeout: VSI_seid: 527, Q 1, NTC: 0x0, HWB: 0x1, NTU: 0x1, TAIL: 0x1, INT: 0x0',
    ],
    states: [undefined],
  },
  {
    url: `${issues}/appneta/tcpreplay/issues/183`,
    devices: [aCard('0000:08:00.1', 'i40e', '8086:1572')],
    lines: [
      'i40e 0000:08:00.1: eth9: tx_timeout recovery level 1',
      'i40e 0000:08:00.1: PTP clock register failed: -16',
      'i40e 0000:08:00.1: eth9: NIC Link is Down',
    ],
    states: [undefined],
  },
  {
    url: `${issues}/ntop/PF_RING/issues/780`,
    devices: [aCard('0000:19:00.0', 'i40e', '8086:1572')],
    lines: [
      'i40e 0000:19:00.0: Query for DCB configuration failed, err I40E_ERR_NOT_READY aq_err OK',
      'i40e 0000:19:00.0: DCB init failed -63, disabled',
    ],
    states: [undefined],
  },
  {
    url: `${issues}/intel/ethernet-linux-ice/issues/31`,
    devices: [aCard('0000:ec:01.1', 'iavf', '8086:1889')],
    lines: [
      'iavf 0000:ec:01.1: Reset indication received from the PF',
      'iavf 0000:ec:01.1: PF returned error -5 (IAVF_ERR_PARAM) to our request 3',
    ],
    states: [undefined],
  },
];

const disks: readonly PublicLog[] = [
  {
    url: `${issues}/raspberrypi/linux/issues/6661`,
    devices: [aDisk('0000:01:00.0')],
    lines: [
      'nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10',
      'nvme nvme0: Does your device have a faulty power saving mode enabled?',
      'nvme0n1: I/O Cmd(0x2) @ LBA 32545872, 8 blocks, I/O Error (sct 0x3 / sc 0x71) ',
      'nvme nvme0: 4/0/0 default/read/poll queues',
    ],
    states: ['degraded'],
  },
  {
    url: `${issues}/linux-nvme/nvme-cli/issues/151`,
    devices: [aDisk('0000:83:00.0', 'nvme2')],
    lines: [
      'nvme nvme2: I/O 0 QID 0 timeout, reset controller',
      'nvme nvme2: Removing after probe failure status: -19',
      'nvme2n1: detected capacity change from 800166076416 to 0',
    ],
    states: ['unhealthy'],
  },
  {
    url: 'https://blog.bspwr.com/blog/',
    devices: [aDisk('0000:01:00.0')],
    lines: [
      'nvme nvme0: Device not ready; aborting reset, CSTS=0x1',
      'I/O error, dev nvme0n1, sector 2623470496 op 0x1:(WRITE) flags 0x0 phys_seg 1 prio class 2',
    ],
    states: ['unhealthy'],
  },
  {
    url: 'https://ahmedalsawi.github.io/posts/2025/01/linux-kernel-debug-nvme-timeout',
    devices: [aDisk('10000:e1:00.0')],
    lines: [
      'nvme nvme0: I/O tag 641 (c281) opcode 0x1 (I/O Cmd) QID 8 timeout, aborting req_op:WRITE(1) size:4096',
      'nvme nvme0: I/O tag 641 (c281) opcode 0x1 (I/O Cmd) QID 8 timeout, reset controller',
      'nvme nvme0: Abort status: 0x371',
    ],
    states: ['degraded'],
  },
  {
    url: `${issues}/oxidecomputer/propolis/issues/578`,
    devices: [aDisk('0000:00:11.0', 'nvme1')],
    lines: ['nvme nvme1: I/O 775 QID 2 timeout, aborting', 'nvme nvme1: Abort status: 0x6'],
    states: [undefined],
  },
  {
    // The driver was taken from the disk while it probed: its state does not change any more.
    url: `${issues}/spdk/spdk/issues/1456`,
    devices: [aDisk('0000:65:00.0')],
    lines: [
      'nvme nvme0: failed to mark controller CONNECTING',
      'nvme nvme0: Removing after probe failure status: -16',
      'blk_update_request: operation not supported error, dev nvme0n1, sector 0 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0',
    ],
    states: [undefined],
  },
];

describe('a public log of other drivers', () => {
  const logs = [...gpus, ...networks, ...disks];
  it.each(logs.map((log) => [log.url, log] as const))('%s', (_url, log) => expectStates(log));
});
