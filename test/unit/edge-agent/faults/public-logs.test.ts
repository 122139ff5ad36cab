// Lines of kernel logs that people have posted, with the health of the device that they are about.

import { describe, it } from 'vitest';
import {
  aCard,
  aDisk,
  aGpu,
  aPort,
  expectStates,
  hardwareError,
  issues,
  type PublicLog,
} from '#test/support/faults/public-log.ts';

const [port, gpu] = ['0000:16:01.0', '0000:18:00.0'];

const probeFailed = 'NVRM: The NVIDIA probe routine failed for 1 device(s).';
/** One record of three lines. */
const lostAtProbe = (address: string, ids: string) =>
  [
    `NVRM: The NVIDIA GPU ${address}`,
    `NVRM: (PCI ID: ${ids}) installed in this system has`,
    'NVRM: fallen off the bus and is not responding to commands.',
  ].join('\\x0a');

const logs: readonly PublicLog[] = [
  {
    url: 'https://atl.kr/dokuwiki/doku.php/hw_장애_확인',
    devices: [aPort(port), { ...aGpu(gpu), below: port }],
    lines: hardwareError(
      2,
      'Hardware error from APEI Generic Hardware Error Source: 1',
      'event severity: fatal',
      ' Error 0, type: fatal',
      '  section_type: PCIe error',
      '  port_type: 4, root port',
      '  version: 3.0',
      '  command: 0x0547, status: 0x4010',
      `  device_id: ${port}`,
      '  slot: 82',
      '  secondary_bus: 0x18',
      '  vendor_id: 0x8086, device_id: 0x2031',
      '  class_code: 000406',
    ),
    states: ['unhealthy', 'unhealthy'],
  },
  {
    url: 'https://www.thomas-krenn.com/en/wiki/Hardware_error_from_APEI_Generic_Hardware_Error_Source',
    devices: [{ address: '0000:43:00.0', ids: '8086:1563', driver: 'ixgbe' }],
    lines: hardwareError(
      2,
      'It has been corrected by h/w and requires no further action',
      'event severity: corrected',
      ' Error 0, type: corrected',
      '  section_type: PCIe error',
      '  device_id: 0000:43:00.0',
      '  vendor_id: 0x8086, device_id: 0x1563',
    ),
    states: [undefined],
  },
  {
    url: `${issues}/leptonai/gpud/blob/main/components/accelerator/nvidia/sxid/README.md`,
    devices: [
      { address: '0000:06:00.0', ids: '10de:22a3', driver: 'nvidia-nvswitch', classCode: '068000' },
      { ...aGpu('0000:18:00.0', 'vfio-pci', '10de:2330'), classCode: '030200' },
    ],
    lines: [
      'nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Fatal, Link 48 LTSSM Fault Up',
      'nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Severity 1 Engine instance 48 Sub-engine instance 00',
      'nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Data {0x10000000, 0x10000000, 0x00000000}',
    ],
    states: ['unhealthy', 'unhealthy'],
  },
  {
    url: `${issues}/leptonai/gpud/blob/main/components/accelerator/nvidia/xid/kmsg_extended_test.go`,
    devices: [aGpu('0018:01:00.0'), aGpu('0019:01:00.0'), aGpu('0008:01:00.0')],
    lines: [
      'NVRM: Xid (PCI:0018:01:00): 145, pid=876767, name=ray::WorkerDict, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x00000008)',
      'NVRM: Xid (PCI:0019:01:00): 149, NETIR Fatal XC0 i0 Link -1 (0x000fe406 0x00000000)',
      'NVRM: Xid (PCI:0008:01:00): 149, NETIR_BER_EVENT Nonfatal XC0 i0 Link 01 (0x00082226 0x00000001)',
    ],
    states: ['degraded', 'unhealthy', 'degraded'],
  },
  {
    url: `${issues}/NVIDIA/open-gpu-kernel-modules/issues/1150`,
    devices: [aGpu('0000:dc:00.0')],
    lines: [
      'NVRM: Xid (PCI:0000:dc:00): 45, pid=1818990, name=python3, Ch 00000001 caused by previous Xid 149',
    ],
    states: [undefined],
  },
  {
    url: `${issues}/NVIDIA/nvidia-docker/issues/1553`,
    devices: [aGpu('0000:09:00.0'), aGpu('0000:09:00.3', 'nvidia-gpu')],
    lines: [
      'NVRM: Xid (PCI:0000:09:00): 79, pid=0, GPU has fallen off the bus.',
      'nvidia-gpu 0000:09:00.3: Refused to change power state, currently in D3',
    ],
    states: ['unhealthy', 'degraded'],
  },
  {
    // Lines that name GPU0 alone are of no device.
    url: `${issues}/Cyridd/cmpunlocker/issues/4`,
    devices: [aGpu('0000:01:00.0', 'nvidia', '10de:1f0b')],
    lines: [
      'NVRM: RmInitAdapter: osInitNvMapping failed, bailing out of RmInitAdapter',
      'NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:894)',
    ],
    states: ['unhealthy'],
  },
  {
    url: `${issues}/NVIDIA/open-gpu-kernel-modules/issues/1230`,
    devices: [aGpu('0000:a1:00.0')],
    lines: [
      'NVRM: GPU6 _kgspBootGspRm: unexpected WPR2 already up, cannot proceed with booting GSP',
      'NVRM: GPU 0000:a1:00.0: rm_init_adapter failed, device minor number 7',
    ],
    states: ['unhealthy'],
  },
  {
    url: `${issues}/NVIDIA/open-gpu-kernel-modules/issues/789`,
    devices: [aGpu('0000:98:00.0', 'nvidia', '10de:2204')],
    lines: [
      'NVRM: gpuWaitForGfwBootComplete_TU102: failed to wait for GFW_BOOT: (progress 0x3)',
      'NVRM: GPU 0000:98:00.0: RmInitAdapter failed! (0x62:0x65:1792)',
    ],
    states: ['unhealthy'],
  },
  {
    url: `${issues}/NVIDIA/NVSentinel/issues/155`,
    devices: [aCard('0000:b3:00.0', undefined, '10de:26b5', '030200')],
    lines: [lostAtProbe('0000:b3:00.0', '10de:26b5'), probeFailed],
    states: ['unhealthy'],
  },
  {
    url: `${issues}/Askannz/optimus-manager/issues/41`,
    devices: [aCard('0000:04:00.0', undefined, '10de:1140', '030200')],
    lines: [
      'nvidia 0000:04:00.0: enabling device (0000 -> 0003)',
      lostAtProbe('0000:04:00.0', '10de:1140'),
      'nvidia: probe of 0000:04:00.0 failed with error -1',
      probeFailed,
    ],
    states: ['unhealthy'],
  },
  {
    // Memory that the firmware gave no address: the GPU itself answers.
    url: `${issues}/NVIDIA/gpu-operator/issues/492`,
    devices: [aCard('0000:14:00.0', undefined, '10de:20b5', '030200')],
    lines: [
      'NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:\\x0aNVRM: BAR1 is 0M @ 0x0 (PCI:0000:14:00.0)',
      'nvidia: probe of 0000:14:00.0 failed with error -1',
      probeFailed,
    ],
    states: [undefined],
  },
  {
    // The GSP's heartbeat names no address; Xid 119 does.
    url: `${issues}/ublue-os/bazzite/issues/4449`,
    devices: [aGpu('0000:05:00.0')],
    lines: [
      'NVRM: GPU0 _kgspIsHeartbeatTimedOut: Heartbeat timed out, currentTimeMs 322227881 heartbeat 0 heartbeatWithOffsetMs 318098841 diff 4129040 timeout 5200',
      'NVRM: GPU0 _kgspRpcRecvPoll: GSP RM heartbeat timed out',
    ],
    states: [undefined],
  },
  {
    url: `${issues}/NVIDIA/nvtrust/issues/124`,
    devices: [
      aCard('0000:02:00.0', 'nvidia-nvswitch', '10de:22a3', '068000'),
      aCard('0000:18:00.0', 'vfio-pci', '10de:2330', '030200'),
    ],
    lines: [
      'nvidia-nvswitch1: SXid (PCI:0000:02:00.0): 22013, Non-fatal, Link 00 Minion Link DLREQ interrupt',
      'nvidia-nvswitch1: SXid (PCI:0000:02:00.0): 22013, Severity 0 Engine instance 00 Sub-engine instance 00',
    ],
    states: [undefined, undefined],
  },
  {
    // The data of an SXid has no severity.
    url: `${issues}/leptonai/gpud/pull/338`,
    devices: [
      aCard('0000:84:00.0', 'nvidia-nvswitch', '10de:22a3', '068000'),
      aCard('0000:18:00.0', 'vfio-pci', '10de:2330', '030200'),
    ],
    lines: [
      'nvidia-nvswitch1: SXid (PCI:0000:84:00.0): 12028, Data {0x000001c0, 0x00bd5c8a, 0x00000500, 0x00000064, 0x00000000, 0x40008000, 0x5a001100, 0x00000000, 0x00000000}',
    ],
    states: [undefined, undefined],
  },
  {
    url: `${issues}/wilicc/gpu-burn/issues/1`,
    devices: [
      aPort('0000:00:02.0', '8086:6f04'),
      { ...aGpu('0000:02:00.0'), below: '0000:00:02.0' },
    ],
    lines: [
      'pcieport 0000:00:02.0: AER: Corrected error received: id=0010',
      'pcieport 0000:00:02.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, id=0010(Receiver ID)',
    ],
    states: ['unhealthy', 'unhealthy'],
  },
  {
    url: `${issues}/pop-os/pop/issues/3363`,
    devices: [
      aPort('0000:00:03.1', '1022:1453'),
      { ...aGpu('0000:08:00.0'), below: '0000:00:03.1' },
    ],
    lines: [
      'pcieport 0000:00:03.1: AER: Correctable error message received from 0000:00:00.0',
      'pcieport 0000:00:03.1: PCIe Bus Error: severity=Correctable, type=Data Link Layer, (Transmitter ID)',
    ],
    states: [undefined, undefined],
  },
  {
    url: `${issues}/minisforum-docs/MS-02-Ultra/issues/10`,
    devices: [
      aPort('0000:80:1b.4', '8086:7f44'),
      { ...aGpu('0000:97:00.0'), below: '0000:80:1b.4' },
    ],
    lines: [
      'pcieport 0000:80:1b.4: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Transaction Layer, (Receiver ID)',
      'pcieport 0000:80:1b.4: AER: device recovery failed',
    ],
    states: ['degraded', 'degraded'],
  },
  {
    url: `${issues}/geerlingguy/raspberry-pi-pcie-devices/issues/600`,
    devices: [
      aPort('0000:00:00.0', '14e4:2712'),
      { ...aCard('0000:01:00.0', 'ahci', '1b21:1064', '010601'), below: '0000:00:00.0' },
    ],
    lines: [
      'pcieport 0000:00:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, (Requester ID)',
      "ahci 0000:01:00.0: AER: can't recover (no error_detected callback)",
      'pcieport 0000:00:00.0: AER: device recovery failed',
    ],
    states: ['degraded', 'degraded'],
  },
  {
    url: `${issues}/Dasharo/dasharo-issues/issues/1849`,
    devices: [aPort('0000:03:01.0', '8086:15da')],
    lines: [
      'pcieport 0000:03:01.0: PCIe Bus Error: severity=Correctable, type=Data Link Layer, (Receiver ID)',
      'pcieport 0000:03:01.0:   device [8086:15da] error status/mask=00000080/00002000',
      'pcieport 0000:03:01.0:    [ 7] BadDLLP               ',
    ],
    states: [undefined],
  },
  {
    url: `${issues}/ROCm/legacy-rocm-build/issues/2927`,
    devices: [
      aPort('0000:20:03.1', '1022:1483'),
      { ...aGpu('0000:2d:00.0', 'amdgpu', '1002:738c'), below: '0000:20:03.1' },
    ],
    lines: [
      ...hardwareError(
        359,
        'Hardware error from APEI Generic Hardware Error Source: 512',
        'It has been corrected by h/w and requires no further action',
        'event severity: corrected',
        ' Error 0, type: corrected',
        '  section_type: PCIe error',
        '  port_type: 4, root port',
        '  device_id: 0000:20:03.1',
        '  vendor_id: 0x1022, device_id: 0x1483',
        ' Error 1, type: corrected',
      ),
      'pcieport 0000:20:03.1: AER: aer_layer=Data Link Layer, aer_agent=Receiver ID',
    ],
    states: [undefined, undefined],
  },
  {
    // Also a link that the hardware takes up again was down under its device.
    url: 'linux-pci, 2024-11-06: PCI/AER: report fatal errors of RCiEP and EP if link recoverd',
    devices: [aPort('0000:30:03.0'), { ...aDisk('0000:34:00.0'), below: '0000:30:03.0' }],
    lines: [
      'pcieport 0000:30:03.0: EDR: EDR event received',
      'pcieport 0000:30:03.0: DPC: containment event, status:0x0005 source:0x3400',
      'pcieport 0000:30:03.0: DPC: ERR_FATAL detected',
      'nvme nvme0: frozen state error detected, reset controller',
      'nvme 0000:34:00.0: ready 0ms after DPC',
      'pcieport 0000:30:03.0: AER: broadcast slot_reset message',
    ],
    states: ['unhealthy', 'unhealthy'],
  },
  {
    url: 'linux-pci, 2025-09-16: fatal errors of RCiEP and EP, a later version of that series',
    devices: [
      aPort('0015:00:00.0'),
      { ...aCard('0015:01:00.0', 'vfio-pci', '15b3:101d'), below: '0015:00:00.0' },
    ],
    lines: [
      'pcieport 0015:00:00.0: EDR: Reported EDR dev: 0015:00:00.0',
      'pcieport 0015:00:00.0: DPC: containment event, status:0x200d, ERR_FATAL received from 0015:01:00.0',
      'pcieport 0015:00:00.0: AER: device recovery successful',
    ],
    states: ['unhealthy', 'unhealthy'],
  },
  {
    url: 'linux-kernel, 2022-01-27: PCI/AER: Disable AER service when link is in L2/L3 ready',
    devices: [
      aPort('0000:00:1b.0', '8086:06ac'),
      { ...aDisk('0000:03:00.0'), below: '0000:00:1b.0' },
    ],
    lines: [
      'pcieport 0000:00:1b.0: DPC: containment event, status:0x1f01 source:0x0000',
      'pcieport 0000:00:1b.0: DPC: unmasked uncorrectable error detected',
      'pcieport 0000:00:1b.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, (Receiver ID)',
      'pcieport 0000:00:1b.0:    [21] ACSViol                (First)',
    ],
    states: ['unhealthy', 'unhealthy'],
  },
  {
    url: `${issues}/bryansteiner/gpu-passthrough-tutorial/issues/39`,
    devices: [aGpu('0000:01:00.0')],
    lines: [
      'nvidia 0000:01:00.0: not ready 32767ms after resume; waiting',
      'nvidia 0000:01:00.0: not ready 65535ms after resume; giving up',
    ],
    states: ['unhealthy'],
  },
  {
    url: `${issues}/kata-containers/kata-containers/issues/11708`,
    devices: [aGpu('0000:01:00.0', 'vfio-pci')],
    lines: [
      'vfio-pci 0000:01:00.0: Unable to change power state from D3cold to D0, device inaccessible',
      'vfio-pci 0000:01:00.0: timed out waiting for pending transaction; performing function level reset anyway',
      'vfio-pci 0000:01:00.0: reset done',
    ],
    states: ['unhealthy'],
  },
  {
    url: `${issues}/patmagauran/i915ovmfPkg/issues/23`,
    devices: [aGpu('0000:00:02.0', 'vfio-pci', '8086:5912')],
    lines: ['vfio-pci 0000:00:02.0: not ready 1023ms after FLR; waiting'],
    states: [undefined],
  },
  {
    url: `${issues}/dell/thunderbolt-nvm-linux/issues/23`,
    devices: [aCard('0000:39:00.0', 'xhci_hcd', '8086:15d4', '0c0330')],
    lines: ['xhci_hcd 0000:39:00.0: Refused to change power state, currently in D3'],
    states: ['degraded'],
  },
  {
    // The device leaves the bus: its report says so.
    url: `${issues}/lnls-dig/bpm-gw/issues/73`,
    devices: [aPort('0000:02:05.0', '10b5:8732')],
    lines: [
      'pciehp 0000:02:05.0:pcie24: slot(6): Link Down event',
      'pciehp 0000:02:05.0:pcie24: pciehp_unconfigure_device: domain:bus:dev = 0000:08:00',
    ],
    states: [undefined],
  },
  {
    url: `${issues}/gnif/vendor-reset/issues/25`,
    devices: [aGpu('0000:0c:00.0', 'vfio-pci', '1002:7340')],
    lines: [
      'vfio-pci 0000:0c:00.0: SMU error 0xfd',
      'vfio-pci 0000:0c:00.0: AMD_NAVI14: mode1 reset succeeded',
    ],
    states: [undefined],
  },
];

describe('a public log of NVIDIA and PCIe', () => {
  it.each(logs.map((log) => [log.url, log] as const))('%s', (_url, log) => expectStates(log));
});
