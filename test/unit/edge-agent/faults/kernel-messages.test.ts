import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { confirmAddress } from '#agent/state/confirmations.ts';
import { aFaultHost, bare, gpu, nic, stateAfter, vfio } from '#test/support/faults/fault-host.ts';
import { aKernelLog, toRecord } from '#test/support/faults/kernel-log.ts';
import { silentLog } from '#test/support/hosts/agent.ts';

describe('a GPU that is lost at the probe', () => {
  const lines = (address: string, ids = '10de:26b5') => [
    `NVRM: The NVIDIA GPU ${address}`,
    `NVRM: (PCI ID: ${ids}) installed in this system has`,
    'NVRM: fallen off the bus and is not responding to commands.',
  ];

  it('is named by one record of three lines, without a driver', async () => {
    expect(await stateAfter([lines(bare).join('\\x0a')], bare)).toBe('unhealthy');
    expect(await stateAfter([lines(gpu).join('\\x0a')], gpu)).toBe('unhealthy');
  });

  it('is named by three records, with others between them', async () => {
    const [first = '', ...others] = lines(bare);
    expect(await stateAfter([first, 'usb 1-1: new device', ...others], bare)).toBe('unhealthy');
  });

  it('is not named by a part, by another device, or by lines that are too old', async () => {
    const all = lines(bare);
    expect(await stateAfter(all.slice(1), bare)).toBeUndefined();
    expect(await stateAfter(all.toReversed(), bare)).toBeUndefined();
    expect(await stateAfter(all, bare, 3_000)).toBeUndefined();
    expect(await stateAfter([lines(bare, '10de:2330').join('\\x0a')], bare)).toBeUndefined();
    expect(await stateAfter([lines(vfio).join('\\x0a')], vfio)).toBeUndefined();
    const unsupported = 'NVRM: installed in this system is not supported by the driver.';
    expect(await stateAfter([...all.slice(0, 1), unsupported, ...all.slice(2)], bare)).toBe(
      undefined,
    );
  });

  it('is named while its driver has it', async () => {
    const line = (address: string) => `NVRM: GPU ${address}: GPU has fallen off the bus.`;
    expect(await stateAfter([line(gpu)], gpu)).toBe('unhealthy');
    expect(await stateAfter([line(vfio)], vfio)).toBeUndefined();
    expect(await stateAfter([line(bare)], bare)).toBeUndefined();
  });
});

describe('an Xid', () => {
  it.each(['', ' GPU-I:05', ' GPU-CI:02', ' GPU-I:05 GPU-CI:00'])(
    'is read with the instances "%s"',
    async (instances) => {
      const line = `NVRM: Xid (PCI:0000:3b:00${instances}): 95, pid=7, Uncontained: LTC TAG`;
      expect(await stateAfter([line], gpu)).toBe('unhealthy');
    },
  );

  const nvlink = (number: number, words: string, name = '') =>
    `NVRM: Xid (PCI:0000:3b:00): ${number}, ${name}NETIR_LINK_EVT  ${words}   XC0 i0 Link 01 (0x021425c6 0x0)`;

  it.each([144, 145, 146, 147, 148, 149, 150])('%i of NVLink 5 has two severities', async (id) => {
    expect(await stateAfter([nvlink(id, 'Fatal')], gpu)).toBe('unhealthy');
    expect(await stateAfter([nvlink(id, 'Link Fatal')], gpu)).toBe('unhealthy');
    expect(await stateAfter([nvlink(id, 'Nonfatal')], gpu)).toBe('degraded');
    expect(await stateAfter([nvlink(id, 'Non-fatal')], gpu)).toBe('degraded');
    const name = 'pid=1, name=a Fatal XC0, ';
    expect(await stateAfter([nvlink(id, 'Nonfatal', name)], gpu)).toBe('degraded');
  });

  it.each([
    ['0x1 (GPU Reset Required)', 'unhealthy'],
    ['0x2 (Node Reboot Required)', 'unhealthy'],
    ['0x3 (Drain P2P)', 'degraded'],
    ['0x4 (Drain and Reset)', 'unhealthy'],
    ['0x5 (Recover IMEX Domain)', 'degraded'],
    ['0x0 (None)', undefined],
  ])('154 asks for %s', async (action, state) => {
    const line = `NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x4 (Drain and Reset) to ${action}`;
    expect(await stateAfter([line], gpu)).toBe(state);
  });

  // Programs and guests can cause these: RESTART_APP or IGNORE in the catalogue.
  it.each([8, 11, 13, 25, 31, 32, 37, 38, 43, 44, 45, 66, 68, 69, 80, 93, 106, 121, 137, 141, 160])(
    '%i is no fault',
    async (number) => {
      const line = `NVRM: Xid (PCI:0000:3b:00): ${number}, pid=1, name=python, Ch 0000001`;
      expect(await stateAfter([line], gpu)).toBeUndefined();
    },
  );

  it('64 outlasts reboots and a rescan, until an operator confirms the device', async () => {
    const { tree, files, start, read, kernel } = aFaultHost();
    const faults = await read([
      'NVRM: Xid (PCI:0000:3b:00): 64, pid=1, Row Remapper: Error in recording new remapping',
    ]);
    kernel.write(toRecord(`pci ${gpu}: [10de:26b5] type 00 class 0x030200 PCIe Endpoint`));
    await faults.read();
    expect(faults.healthOf(gpu)?.next_step).toContain('cyborg-agent confirm ADDRESS');
    expect(faults.healthOf(gpu)?.needs_reboot).toBeUndefined();
    const after = await start('b', aKernelLog());
    await after.read();
    expect(after.healthOf(gpu)?.state).toBe('unhealthy');
    await confirmAddress(files, silentLog, gpu, {
      at: new Date(60_000).toISOString(),
      identity: 'x',
    });
    expect([await after.read(), after.healthOf(gpu)]).toEqual([true, undefined]);
    const last = await start('c', aKernelLog());
    expect(last.healthOf(gpu)).toBeUndefined();
    // A fault after the confirmation is a new one.
    kernel.write(
      toRecord('NVRM: Xid (PCI:0000:3b:00): 64, pid=1, Row Remapper: Error in recording'),
      120_000,
    );
    await faults.read();
    expect(faults.healthOf(gpu)?.state).toBe('unhealthy');
    tree.removeFunction(gpu).addFunction({ address: gpu, product: '2330', driver: 'nvidia' });
    await faults.read();
    expect(faults.healthOf(gpu)).toBeUndefined();
  });

  it('is read also while the confirmations cannot be read', async () => {
    const { directory, kernel, log, read } = aFaultHost();
    mkdirSync(join(directory, 'confirmations.json'));
    const unread = () => log.lines.filter(({ message }) => message === 'Confirmations not read');
    const faults = await read([`mlx5_core ${nic}: Fatal error 1 detected`]);
    await faults.read();
    // Nothing that lasts: no file is needed.
    expect(unread()).toEqual([]);
    kernel.write(toRecord('NVRM: Xid (PCI:0000:3b:00): 64, pid=1, Row Remapper: Error'), 1_000);
    expect(await faults.read()).toBe(true);
    kernel.write(toRecord(`vfio-pci ${vfio}: not ready 65535ms after FLR; giving up`), 2_000);
    expect([await faults.read(), await faults.read()]).toEqual([true, false]);
    expect([gpu, vfio].map((each) => faults.healthOf(each)?.state)).toEqual([
      'unhealthy',
      'unhealthy',
    ]);
    expect(unread()).toHaveLength(1);
  });
});
