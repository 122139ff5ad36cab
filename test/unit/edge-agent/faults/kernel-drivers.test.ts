import { describe, expect, it } from 'vitest';
import {
  aFaultHost,
  downstream,
  gpu,
  nic,
  port,
  stateAfter,
  vfio,
} from '#test/support/faults/fault-host.ts';
import { toRecord } from '#test/support/faults/kernel-log.ts';

describe('an error of PCIe', () => {
  const firmware = (address: string, status: string, severity?: string, mask = '0x00000000') => [
    `vfio-pci ${address}: AER: aer_status: ${status}, aer_mask: ${mask}`,
    `vfio-pci ${address}: AER:    [18] MalfTLP                (First)`,
    `vfio-pci ${address}: AER: aer_layer=Transaction Layer, aer_agent=Receiver ID`,
    ...(severity ? [`vfio-pci ${address}: AER: aer_uncor_severity: ${severity}`] : []),
  ];

  it.each([
    ['fatal, by its severity', '0x00040000', '0x00062010', undefined, 'unhealthy'],
    ['not fatal, by its severity', '0x00100000', '0x00062010', undefined, 'degraded'],
    ['masked', '0x00100000', '0x00162010', '0x00100000', undefined],
    ['corrected', '0x00001000', undefined, undefined, undefined],
  ])('that the firmware reports is %s', async (_what, status, severity, mask, state) => {
    expect(await stateAfter(firmware(vfio, status, severity, mask), vfio)).toBe(state);
    // Linux 4.18 has no "AER: ".
    const plain = firmware(vfio, status, severity, mask).map((each) => each.replace('AER: ', ''));
    expect(await stateAfter(plain, vfio)).toBe(state);
  });

  it('that the firmware reports is of the device of both lines', async () => {
    const [status = ''] = firmware(vfio, '0x00040000');
    const severity = firmware(gpu, '0x00000000', '0x00062010').at(-1) ?? '';
    const faults = await aFaultHost().read([status, severity]);
    expect([faults.healthOf(vfio), faults.healthOf(gpu)]).toEqual([undefined, undefined]);
    const [late, later] = [firmware(vfio, '0x00040000', '0x00062010'), 3_000];
    expect(await stateAfter(late, vfio, later)).toBeUndefined();
  });

  it('that the firmware reports without end does not grow', async () => {
    const flood = Array.from({ length: 10_000 }, (_, index) => {
      const bus = (index % 250).toString(16).padStart(2, '0');
      return firmware(`0001:${bus}:00.0`, '0x00040000')[0] ?? '';
    });
    const faults = await aFaultHost().read(
      [...flood, ...firmware(vfio, '0x00040000', '0x00062010')],
      0,
    );
    expect(faults.healthOf(vfio)?.state).toBe('unhealthy');
  });

  it.each([
    `pcieport ${port}: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)`,
    `pcieport ${port}: AER: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer, (Receiver ID)`,
    `pcieport ${port}: DPC: containment event, status:0x1f01 source:0x0000`,
    `pcieport ${port}: DPC: containment event, status:0x200d, ERR_FATAL received from ${gpu}`,
  ])('at a port is a fault of the devices below it: %s', async (line) => {
    const faults = await aFaultHost().read([line]);
    expect(faults.healthOf(gpu)).toMatchObject({
      state: 'unhealthy',
      reason: expect.stringMatching(`^is below the port ${port}, which has had`),
    });
    expect(faults.healthOf(port)?.state).toBe('unhealthy');
    expect([vfio, nic, downstream].map(faults.healthOf)).toEqual([undefined, undefined, undefined]);
  });

  it.each(['device recovery failed', 'Device recovery failed'])(
    'at a port is a warning of the devices below it: %s',
    async (text) => {
      const faults = await aFaultHost().read([`pcieport ${port}: AER: ${text}`]);
      expect(faults.healthOf(gpu)).toMatchObject({
        state: 'degraded',
        reason: `is below the port ${port}, which could not be recovered after a PCIe error`,
        next_step: expect.stringContaining('Watch the device'),
      });
      expect(faults.healthOf(vfio)).toBeUndefined();
    },
  );

  it('at a port of Linux 5.0 and before is written by the service of the port', async () => {
    const { kernel, start } = aFaultHost();
    const faults = await start();
    const text = `dpc ${port}:pcie010: DPC containment event, status:0x1f01 source:0x0000`;
    kernel.write([text, ` SUBSYSTEM=pci_express\n DEVICE=+pci_express:${port}:pcie010\n`]);
    await faults.read();
    expect(faults.healthOf(gpu)?.state).toBe('unhealthy');
  });

  it.each([
    `pcieport ${port}: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, (Receiver ID)`,
    `pcieport ${port}: AER: device recovery successful`,
    `pcieport ${port}: DPC: unmasked uncorrectable error detected`,
    `pcieport ${port}: pciehp: Slot(3): Link Up`,
  ])('at a port is no fault of the devices below it: %s', async (line) => {
    expect(await stateAfter([line], gpu)).toBeUndefined();
  });

  it('at a port that repeats itself keeps no other device waiting', async () => {
    const line = `pcieport ${port}: DPC: containment event, status:0x1f01 source:0x0000`;
    const last = `mlx5_core ${nic}: Fatal error 1 detected`;
    const faults = await aFaultHost().read([...Array(15_000).fill(line), last], 0);
    expect([gpu, nic].map((each) => faults.healthOf(each)?.state)).toEqual([
      'unhealthy',
      'unhealthy',
    ]);
  });

  it('of devices without end is kept for some hundreds', async () => {
    const lines = Array.from({ length: 5_000 }, (_, index) => {
      const [domain, bus] = [index >> 8, index & 0xff].map((each) => each.toString(16));
      const at = `${domain?.padStart(4, '0')}:${bus?.padStart(2, '0')}:1f.7`;
      return `x ${at}: not ready 65535ms after FLR; giving up`;
    });
    const { read, files } = aFaultHost();
    await read(lines, 0);
    const { faults } = JSON.parse((await files.read('faults.json')) ?? '') as { faults: object };
    expect(Object.keys(faults)).toHaveLength(1024);
  });

  it('ends for a device below a port that the kernel finds anew', async () => {
    const { kernel, read } = aFaultHost();
    const faults = await read([`pcieport ${port}: DPC: containment event, status:0x1f01`]);
    kernel.write(toRecord(`pci ${gpu}: [10de:26b5] type 00 class 0x030200`));
    await faults.read();
    expect([faults.healthOf(gpu), faults.healthOf(port)?.state]).toEqual([undefined, 'unhealthy']);
  });
});

describe('a driver', () => {
  it.each([
    ['unhealthy', 'Fatal error during GPU init', 'amdgpu'],
    ['unhealthy', 'amdgpu: Fatal error during GPU init', 'amdgpu'],
    ['degraded', 'amdgpu: MES failed to respond to msg=REMOVE_QUEUE', 'amdgpu'],
    ['degraded', 'amdgpu: MES(0, 0) failed to respond to msg=REMOVE_QUEUE', 'amdgpu'],
    ['degraded', 'MES(0,0) failed to respond to msg=SUSPEND', 'amdgpu'],
    ['degraded', 'amdgpu: MES failed to response msg=3', 'amdgpu'],
    ['degraded', 'MES might be in unrecoverable state, issue a GPU reset', 'amdgpu'],
    ['degraded', 'amdgpu: GPU reset begin!. Source:  3', 'amdgpu'],
    ['degraded', 'amdgpu: 2 uncorrectable hardware errors detected in umc block', 'amdgpu'],
    [undefined, 'amdgpu: 0 uncorrectable hardware errors detected in umc block', 'amdgpu'],
    [
      'unhealthy',
      'amdgpu: RAS records:9 exceed threshold:8, GPU will not be initialized. Replace this GPU',
      'amdgpu',
    ],
    ['degraded', 'amdgpu: RAS records:9 exceed threshold:8', 'amdgpu'],
    [undefined, 'amdgpu: GPU reset(2) succeeded!', 'amdgpu'],
    ['unhealthy', 'Failed to initialize hl2. Device is NOT usable !', 'habanalabs'],
    ['unhealthy', 'Failed to initialize accel6. Device 0000:34:00.0 is NOT usable !', 'habanalabs'],
    [
      'unhealthy',
      "poll_health:852:(pid 0): device's health compromised - reached miss count",
      'mlx5_core',
    ],
    [
      'unhealthy',
      `${nic}:poll_health:165:(pid 0): device's health compromised - reached miss count`,
      'mlx5_core',
    ],
    [
      undefined,
      `${gpu}:poll_health:165:(pid 0): device's health compromised - reached miss count`,
      'mlx5_core',
    ],
    [
      'unhealthy',
      'print_health_info:458:(pid 0): synd 0x8: unrecoverable hardware error',
      'mlx5_core',
    ],
    [
      'unhealthy',
      'print_health_info:431:(pid 0): Health issue observed, firmware internal error, severity(3) ERROR:',
      'mlx5_core',
    ],
    ['degraded', 'print_health_info:458:(pid 0): synd 0x10: High temperature', 'mlx5_core'],
    [
      'degraded',
      'print_health_info:431:(pid 0): Health issue observed, High temperature, severity(3) ERROR:',
      'mlx5_core',
    ],
    [undefined, 'print_health_info:458:(pid 0): synd 0x0: unrecognized error', 'mlx5_core'],
    [
      'unhealthy',
      'wait_func:964:(pid 112): ENABLE_HCA(0x104) timeout. Will cause a leak of a command resource',
      'mlx5_core',
    ],
    [
      'degraded',
      'wait_func:964:(pid 112): QUERY_VPORT_COUNTER(0x770) timeout. Will cause a leak of a command resource',
      'mlx5_core',
    ],
    ['unhealthy', 'Adapter removed', 'ixgbe'],
    [undefined, 'Adapter removed', 'ixgbevf'],
    [
      'unhealthy',
      'Firmware recovery mode detected. Limiting functionality. Refer to the guide.',
      'ice',
    ],
    ['unhealthy', '[drm] *ERROR* Failed to reset chip', 'i915'],
    ['unhealthy', 'Failed to initialize GPU, declaring it wedged!', 'i915'],
    ['unhealthy', '[drm] *ERROR* GT0: Failed to initialize GPU, declaring it wedged!', 'i915'],
    ['unhealthy', 'Rebuild failed, unload and reload driver', 'ice'],
    ['degraded', 'Device heartbeat failed! PCI link is healthy', 'habanalabs'],
    ['unhealthy', 'Runtime Survivability mode enabled', 'xe'],
    ['unhealthy', 'In Survivability Mode', 'xe'],
    [undefined, '[drm] GPU HANG: ecode 12:1:85dffffb, in prog [7]', 'i915'],
    [undefined, 'Malicious Driver Detection event TX_HANG detected', 'ice'],
  ])('writes what makes a device %s: %s', async (state, text, driver) => {
    expect(await stateAfter([`${driver} ${nic}: ${text}`], nic)).toBe(state);
    // A message of another driver is not of the table.
    expect(await stateAfter([`other ${nic}: ${text}`], nic)).toBeUndefined();
  });

  it('writes of its network interface', async () => {
    const lost = `igb ${nic} eth2: PCIe link lost, device now detached`;
    expect(await stateAfter([lost], nic)).toBe('unhealthy');
    expect(await stateAfter([`mlx5_core ${nic} eth2: TX timeout detected`], nic)).toBeUndefined();
    const unregistered = (name: string) => `igb ${nic} ${name} (uninitialized): PCIe link lost`;
    expect(await stateAfter([unregistered(nic)], nic)).toBe('unhealthy');
    expect(await stateAfter([unregistered(gpu)], nic)).toBeUndefined();
    const unnamed = `bnxt_en ${nic} (unnamed net_device) (uninitialized): `;
    const silent = `${unnamed}Firmware not responding, status: 0x1`;
    expect(await stateAfter([silent], nic)).toBe('unhealthy');
  });

  it('writes of a node of its class', async () => {
    const { tree, kernel, start } = aFaultHost();
    tree.write('class/habanalabs/hl0/pci_addr', `${nic}\n`);
    tree.link('class/accel/accel0/device', tree.pathOf(vfio));
    const faults = await start();
    await faults.read();
    kernel.write(toRecord('habanalabs hl0: Device heartbeat failed!'));
    kernel.write([
      'accel accel0: 0000:34:00.0 Failed to reset! Device is NOT usable',
      ' SUBSYSTEM=accel\n DEVICE=c261:0\n',
    ]);
    await faults.read();
    expect([nic, vfio, gpu].map((each) => faults.healthOf(each)?.state)).toEqual([
      'degraded',
      'unhealthy',
      undefined,
    ]);
  });

  it('of Gaudi writes of a failed start without fields', async () => {
    const address = '0000:19:00.0';
    const { tree, read } = aFaultHost();
    tree.addFunction({ address, vendor: '1da3', product: '1060', driver: 'habanalabs' });
    const failed = (at: string) =>
      `habanalabs: Failed to initialize accel0. Device ${at} is NOT usable!`;
    const faults = await read([failed(address), failed(nic)]);
    expect([address, nic].map((each) => faults.healthOf(each)?.state)).toEqual([
      'unhealthy',
      undefined,
    ]);
  });

  it.each(['', 'blk_update_request: ', 'print_req_error: '])(
    'of blocks names the disk after "%s"',
    async (prefix) => {
      const { tree, kernel, start } = aFaultHost();
      tree.link('class/block/nvme0n1/device', 'devices/nvme0');
      tree.link('class/nvme/nvme0/device', tree.pathOf(nic));
      const faults = await start();
      await faults.read();
      kernel.write(`${prefix}critical medium error, dev nvme0n1, sector 534080 op 0x1:(WRITE)`);
      kernel.write(`${prefix}critical target error, dev nvme0n1, sector 534080`);
      kernel.write('blk_update_request: 12 callbacks suppressed');
      await faults.read();
      expect(faults.healthOf(nic)).toBeUndefined();
      tree.removeFunction(nic).addFunction({ address: nic, classCode: '010802', driver: 'nvme' });
      kernel.write(`${prefix}critical medium error, dev nvme0n1, sector 534080`);
      await faults.read();
      expect(faults.healthOf(nic)?.state).toBe('degraded');
    },
  );
});
