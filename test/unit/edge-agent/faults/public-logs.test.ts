// Lines of kernel logs that people have posted, with the health of the device that they are about.

import { describe, expect, it } from 'vitest';
import { aFaultHost } from '#test/support/faults/fault-host.ts';

interface Device {
  readonly address: string;
  readonly ids: string;
  readonly driver: string;
  readonly classCode?: string;
  readonly below?: string;
}

interface PublicLog {
  readonly url: string;
  readonly devices: readonly Device[];
  readonly lines: readonly string[];
  readonly states: readonly (string | undefined)[];
}

const issues = 'https://github.com';
const [port, gpu] = ['0000:16:01.0', '0000:18:00.0'];
const aGpu = (address: string, driver = 'nvidia', ids = '10de:2235'): Device => ({
  ...{ address, driver, ids },
});
const record = (number: number, ...fields: readonly string[]) =>
  fields.map((field) => `{${number}}[Hardware Error]: ${field}`);

const logs: readonly PublicLog[] = [
  {
    url: 'https://atl.kr/dokuwiki/doku.php/hw_장애_확인',
    devices: [
      { address: port, ids: '8086:2031', driver: 'pcieport', classCode: '060400' },
      { ...aGpu(gpu), below: port },
    ],
    lines: record(
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
    lines: record(
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
    url: `${issues}/wilicc/gpu-burn/issues/1`,
    devices: [
      { address: '0000:00:02.0', ids: '8086:6f04', driver: 'pcieport', classCode: '060400' },
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
      { address: '0000:00:03.1', ids: '1022:1453', driver: 'pcieport', classCode: '060400' },
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
      { address: '0000:80:1b.4', ids: '8086:7f44', driver: 'pcieport', classCode: '060400' },
      { ...aGpu('0000:97:00.0'), below: '0000:80:1b.4' },
    ],
    lines: [
      'pcieport 0000:80:1b.4: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Transaction Layer, (Receiver ID)',
      'pcieport 0000:80:1b.4: AER: device recovery failed',
    ],
    states: ['degraded', 'degraded'],
  },
];

describe('a public log', () => {
  it.each(logs.map((log) => [log.url, log] as const))('%s', async (_url, log) => {
    const { tree, read } = aFaultHost();
    for (const { ids, ...device } of log.devices) {
      const [vendor = '', product = ''] = ids.split(':');
      tree.addFunction({ ...device, vendor, product });
    }
    const faults = await read(log.lines, 20);
    expect(log.devices.map(({ address }) => faults.healthOf(address)?.state)).toEqual(log.states);
  });
});
