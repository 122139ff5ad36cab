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

interface Record {
  readonly number?: number;
  readonly event?: string;
  readonly section?: string;
  readonly type?: string;
  readonly address?: string;
  readonly ids?: readonly [vendor: string, product: string];
}

/** A record as the kernel prints it. */
function aRecord({
  number = 1,
  event = 'fatal',
  section = event,
  type = 'PCIe error',
  address = vfio,
  ids: [vendor, product] = ['10de', '26b5'],
}: Record = {}): string[] {
  return [
    'Hardware error from APEI Generic Hardware Error Source: 5',
    `event severity: ${event}`,
    ` Error 0, type: ${section}`,
    ' fru_text: PcieError',
    `  section_type: ${type}`,
    '  port_type: 0, PCIe end point',
    '  version: 3.0',
    '  command: 0x0547, status: 0x0010',
    `  device_id: ${address}`,
    '  slot: 0',
    '  secondary_bus: 0x00',
    `  vendor_id: 0x${vendor}, device_id: 0x${product}`,
    '  class_code: 030200',
    '  aer_uncor_status: 0x00040000, aer_uncor_mask: 0x00000000',
    '  aer_uncor_severity: 0x00062010',
  ].map((field) => `{${number}}[Hardware Error]: ${field}`);
}

describe('a record of the firmware', () => {
  it.each([
    ['fatal', 'fatal', 'unhealthy'],
    ['recoverable', 'fatal', 'unhealthy'],
    ['recoverable', 'recoverable', 'degraded'],
    ['corrected', 'corrected', undefined],
    ['corrected', 'fatal', undefined],
    ['fatal', 'corrected', undefined],
    ['info', 'info', undefined],
  ])('of severity %s with a section of severity %s', async (event, section, state) => {
    expect(await stateAfter(aRecord({ event, section }), vfio, 10)).toBe(state);
  });

  it('of a port is a fault of the devices below it, if it is fatal', async () => {
    const ids = ['8086', '2235'] as const;
    const fatal = await aFaultHost().read(aRecord({ address: port, ids }), 10);
    expect(fatal.healthOf(gpu)?.reason).toBe(
      `is below the port ${port}, which has a fatal PCIe error in a record of the firmware`,
    );
    expect([vfio, nic, downstream].map(fatal.healthOf)).toEqual([undefined, undefined, undefined]);
    const recoverable = aRecord({ address: port, ids, event: 'recoverable' });
    expect(await stateAfter(recoverable, gpu, 10)).toBeUndefined();
  });

  it('is read beside other records and other messages', async () => {
    const [first, second] = [
      aRecord(),
      aRecord({ number: 2, address: nic, ids: ['15b3', '2235'] }),
    ];
    const lines = first.flatMap((line, index) => [line, 'usb 1-1: reset', second[index] ?? '']);
    const faults = await aFaultHost().read(lines, 10);
    expect([vfio, nic, gpu].map((each) => faults.healthOf(each)?.state)).toEqual([
      'unhealthy',
      'unhealthy',
      undefined,
    ]);
  });

  // From a host of 2022: https://github.com/ovro-lwa/lwa-issues/issues/117.
  it('is read between messages of machine checks', async () => {
    const lines = [
      '{1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 1',
      '{1}[Hardware Error]: event severity: recoverable',
      '{1}[Hardware Error]:  Error 0, type: recoverable',
      '{1}[Hardware Error]:   section_type: PCIe error',
      '{1}[Hardware Error]:   port_type: 0, PCIe end point',
      '{1}[Hardware Error]:   device_id: 0000:5e:00.0',
      '{1}[Hardware Error]:   slot: 9',
      'mce: [Hardware Error]: Machine check events logged',
      '{1}[Hardware Error]:   secondary_bus: 0x00',
      '{1}[Hardware Error]:   vendor_id: 0x144d, device_id: 0xa808',
    ];
    const { tree, read } = aFaultHost();
    tree.addFunction({ address: '0000:5e:00.0', vendor: '144d', product: 'a808', driver: 'nvme' });
    const faults = await read(lines, 20);
    expect(faults.healthOf('0000:5e:00.0')?.state).toBe('degraded');
  });

  it('has a section for each error', async () => {
    const [, , ...memory] = aRecord({ type: 'memory error', address: nic });
    const [, , ...error] = aRecord();
    const [head = '', event = ''] = aRecord();
    const faults = await aFaultHost().read([head, event, ...memory, ...error], 10);
    expect([faults.healthOf(vfio)?.state, faults.healthOf(nic)]).toEqual(['unhealthy', undefined]);
    // The device of a section is not that of the next one.
    const [, , ...recoverable] = aRecord({ event: 'recoverable' });
    const withoutDevice = error.filter((line) => !/device_id: 0000:/.test(line));
    const lines = [head, event, ...recoverable, ...withoutDevice];
    expect(await stateAfter(lines, vfio, 10)).toBe('degraded');
  });

  it.each([
    ['cut at its end', aRecord().slice(0, 11)],
    ['without its beginning', aRecord().slice(2)],
    ['out of order', aRecord().toReversed()],
    ['of another device', aRecord({ ids: ['10de', '2330'] })],
    ['without ids', aRecord({ ids: ['0000', '0000'] })],
    ['of no function', aRecord({ address: '0000:3d:00.8' })],
    ['of memory', aRecord({ type: 'memory error' })],
    ['of the boot before', aRecord().map((line) => line.slice('{1}'.length))],
    ['quoted by a driver', aRecord().map((line) => `usb 1-1: ${line}`)],
    ['of a driver', aRecord().map((line) => `vfio-pci ${vfio}: ${line}`)],
  ])('%s says nothing', async (_what, lines) => {
    const faults = await aFaultHost().read(lines, 10);
    expect([vfio, gpu, nic, port].map(faults.healthOf)).toEqual(Array(4).fill(undefined));
  });

  it('that takes too long says nothing', async () => {
    expect(await stateAfter(aRecord(), vfio, 300)).toBeUndefined();
  });

  it('that a program or a driver wrote says nothing', async () => {
    const { kernel, start } = aFaultHost();
    const faults = await start();
    for (const line of aRecord()) kernel.write(toRecord(line), 1_000, 11);
    const ofDriver = ` SUBSYSTEM=pci\n DEVICE=+pci:${vfio}\n`;
    for (const line of aRecord()) kernel.write([line, ofDriver]);
    await faults.read();
    expect(faults.healthOf(vfio)).toBeUndefined();
  });

  it('that began before many others says nothing', async () => {
    const [head = '', event = '', ...rest] = aRecord();
    const others = Array.from({ length: 8 }, (_, index) => aRecord({ number: index + 2 })[1] ?? '');
    expect(await stateAfter([head, event, ...others, ...rest], vfio, 10)).toBeUndefined();
    expect(await stateAfter([head, event, ...others.slice(1), ...rest], vfio, 10)).toBe(
      'unhealthy',
    );
  });

  it('is read after records without end', async () => {
    const flood = Array.from({ length: 10_000 }, (_, number) => aRecord({ number })[1] ?? '');
    expect(await stateAfter([...flood, ...aRecord({ number: 10_001 })], vfio, 0)).toBe('unhealthy');
  });

  it('joins the status that Linux 7.3 writes of the device', async () => {
    const lines = [
      `vfio-pci ${vfio}: AER: aer_uncor_status: 0x00040000, aer_uncor_mask: 0x00000000`,
      `vfio-pci ${vfio}: AER:   [18] MalfTLP           | Receiver ID | Transaction Layer (First)`,
      `vfio-pci ${vfio}: AER: aer_uncor_severity: 0x00062010`,
    ];
    const faults = await aFaultHost().read(lines);
    expect(faults.healthOf(vfio)?.reason).toBe(
      'has had a fatal PCIe error, which the firmware reported',
    );
    const corrected = `vfio-pci ${vfio}: AER: aer_cor_status: 0x00002000, aer_cor_mask: 0x00000000`;
    expect(await stateAfter([corrected, ...lines.slice(2)], vfio)).toBeUndefined();
  });
});
