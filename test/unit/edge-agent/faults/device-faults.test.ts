import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createDeviceFaults } from '#agent/faults/device-faults.ts';
import { openFaultRecords } from '#agent/faults/fault-records.ts';
import type { KernelLog } from '#agent/faults/kernel/kernel-log.ts';
import { createDiscovery } from '#agent/report/discover.ts';
import { openStateFiles } from '#agent/state/state-files.ts';
import { openSysfs } from '#agent/sysfs/root.ts';
import { aKernelLog } from '#test/support/faults/kernel-log.ts';
import { aClock, aDriver, aLog, aReportedDevice } from '#test/support/hosts/agent.ts';
import { aSysfsTree } from '#test/support/hosts/sysfs.ts';

const [gpu, qat, disk] = ['0000:3b:00.0', '0000:6b:00.0', '0000:01:00.0'];
const [bootId, otherBoot] = ['a', 'b'];
const xid79 = "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', GPU has fallen off the bus.";
const fatalQat = pci(qat, '4xxx', 'Fatal error, reset required');

function pci(address: string, driver: string, text: string): readonly [string, string] {
  return [`${driver} ${address}: ${text}`, ` SUBSYSTEM=pci\n DEVICE=+pci:${address}\n`];
}

function nvme(text: string): readonly [string, string] {
  return [`nvme nvme0: ${text}`, ' SUBSYSTEM=nvme\n DEVICE=c241:0\n'];
}

function aHost() {
  const tree = aSysfsTree()
    .addFunction({ address: gpu, driver: 'nvidia' })
    .addFunction({ address: '0000:3c:00.0', driver: 'vfio-pci' })
    .addFunction({ address: qat, driver: '4xxx' })
    .addFunction({ address: disk, driver: 'nvme' });
  const directory = mkdtempSync(join(tmpdir(), 'faults-'));
  const kernel = aKernelLog();
  const clock = aClock();
  const log = aLog();
  const start = async (boot = bootId, kernelLog = kernel.open()) => {
    const records = await openFaultRecords(openStateFiles(directory), boot, log);
    const sysfs = openSysfs(tree.root);
    return createDeviceFaults({ kernelLog, records, bootedMs: 0, sysfs, clock, log });
  };
  return { tree, directory, kernel, clock, log, start };
}

describe('faults of devices', () => {
  it('are read from the log of the boot, and then as the kernel writes them', async () => {
    const { kernel, log, start } = aHost();
    kernel.write(fatalQat);
    const faults = await start();
    expect([await faults.read(), await faults.read()]).toEqual([true, false]);
    expect(faults.healthOf(qat)).toEqual({
      state: 'unhealthy',
      reason: 'has had a fatal error of QAT, which needs a reset',
      since: '1970-01-01T00:00:01.000Z',
      next_step: expect.stringContaining('reboot the host'),
      needs_reboot: true,
    });
    expect(faults.healthOf(gpu)).toBeUndefined();
    kernel.write(xid79);
    expect([await faults.read(), faults.healthOf(gpu)?.state]).toEqual([true, 'unhealthy']);
    expect(log.lines).toMatchObject([
      { message: 'Device fault in the kernel log', address: qat, fault: 'qat-fatal' },
      { message: 'Device fault in the kernel log', address: gpu, fault: 'xid-79' },
    ]);
  });

  it('are those of the device whose driver wrote the message', async () => {
    const { kernel, start } = aHost();
    const faults = await start();
    // A card on VFIO has no driver that writes an Xid, and a program is not the kernel.
    kernel.write(xid79.replace('3b', '3c'));
    kernel.write(xid79.replace('3b', '3d'));
    kernel.write(xid79, 1_000, 11);
    expect(await faults.read()).toBe(false);
    expect([gpu, '0000:3c:00.0'].map(faults.healthOf)).toEqual([undefined, undefined]);
  });

  it('of a virtual function are those of its card', async () => {
    const { tree, kernel, start } = aHost();
    tree.addFunction({ address: '0000:6b:00.1', physicalFunction: qat });
    const faults = await start();
    kernel.write(pci('0000:6b:00.1', 'vfio-pci', 'not ready 65535ms after FLR; giving up'));
    await faults.read();
    expect(faults.healthOf(qat)?.reason).toBe('did not come back after a reset');
  });

  it('of the disk of an NVMe device need its name at that time', async () => {
    const { tree, kernel, start } = aHost();
    const failed = 'critical medium error, dev nvme0c0n1, sector 672 op 0x0:(READ)';
    const link = (path: string, target: string) => {
      mkdirSync(join(tree.root, path), { recursive: true });
      symlinkSync(target, join(tree.root, path, 'device'));
    };
    link('class/block/nvme0c0n1', '../../../nvme0');
    link('class/block/nvme0n1', '../../../nvme-subsys0');
    link('class/nvme/nvme0', `../../../${disk}`);
    kernel.write(failed);
    const faults = await start();
    // The name was that of another disk, maybe; and a disk of two controllers is of neither.
    expect(await faults.read()).toBe(false);
    kernel.write(failed.replace('nvme0c0n1', 'nvme0n1'));
    kernel.write(failed.replace('nvme0c0n1', 'nvme1n1'));
    expect(await faults.read()).toBe(false);
    kernel.write(failed);
    expect(await faults.read()).toBe(true);
    expect(faults.healthOf(disk)).toMatchObject({
      state: 'degraded',
      reason: 'has had an error of its medium that it could not correct',
    });
  });

  it('of an NVMe controller need its address, because its name goes to others', async () => {
    const { tree, kernel, start } = aHost();
    kernel.write(nvme('Disabling device after reset failure: -19'));
    mkdirSync(join(tree.root, 'class/nvme/nvme0'), { recursive: true });
    symlinkSync(`../../../${disk}`, join(tree.root, 'class/nvme/nvme0/device'));
    const old = await start();
    await old.read();
    expect(old.healthOf(disk)).toBeUndefined();
    kernel.write(nvme('Disabling device after reset failure: -19'));
    await old.read();
    expect(old.healthOf(disk)?.state).toBe('unhealthy');
    kernel.write(nvme(`pci function ${qat}`));
    kernel.write(nvme('controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10'));
    await old.read();
    expect(old.healthOf(qat)?.state).toBe('degraded');
  });

  it('that are fatal last over a restart, and end with the boot', async () => {
    const { kernel, start } = aHost();
    kernel.write(fatalQat);
    await (await start()).read();
    const emptied = aKernelLog();
    const again = await start(bootId, emptied.open());
    await again.read();
    expect(again.healthOf(qat)?.state).toBe('unhealthy');
    expect((await start(otherBoot, emptied.open())).healthOf(qat)).toBeUndefined();
  });

  it('end when the kernel finds the device anew, and do not return with a restart', async () => {
    const { kernel, start } = aHost();
    const found = pci(qat, 'pci', '[8086:4940] type 00 class 0x0b4000 PCIe Endpoint');
    kernel.write(fatalQat);
    const faults = await start();
    await faults.read();
    kernel.write(pci(gpu, 'pci', '[10de:2330] type 00 class 0x030200'));
    kernel.write(found, 2_000, 11);
    expect([await faults.read(), faults.healthOf(qat)?.state]).toEqual([false, 'unhealthy']);
    kernel.write(found);
    expect([await faults.read(), faults.healthOf(qat)]).toEqual([true, undefined]);
    const again = await start();
    expect([await again.read(), again.healthOf(qat)]).toEqual([false, undefined]);
  });

  it('that are warnings are shown for a day, below one that is fatal', async () => {
    const { kernel, clock, start } = aHost();
    const faults = await start();
    kernel.write(pci(qat, '4xxx', 'PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=x'), 0);
    await faults.read();
    expect(faults.healthOf(qat)?.state).toBe('degraded');
    kernel.write(fatalQat);
    await faults.read();
    expect(faults.healthOf(qat)?.reason).toContain('QAT');
    kernel.write(pci(gpu, 'nvidia', 'PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=x'), 0);
    await faults.read();
    await clock.advance(24 * 3_600_000);
    expect([faults.healthOf(gpu), faults.healthOf(qat)?.state]).toEqual([undefined, 'unhealthy']);
  });

  it('that are logged without end are one log line, and one write in ten minutes', async () => {
    const { kernel, log, start } = aHost();
    const faults = await start();
    let changes = 0;
    for (let second = 0; second < 1_200; second += 1) {
      kernel.write(fatalQat, second * 1_000);
      if (await faults.read()) changes += 1;
    }
    expect([changes, log.lines.length]).toEqual([2, 1]);
  });

  it('are read in parts from a flood, and after records were overwritten', async () => {
    const { log, start } = aHost();
    const kernel = aKernelLog(50_000);
    const faults = await start(bootId, kernel.open());
    for (let count = 0; count < 70_000; count += 1) kernel.write('flood', 0, 11);
    kernel.write(fatalQat);
    const ends: (string | undefined)[] = [];
    for (let call = 0; call < 3; call += 1) {
      await faults.read();
      ends.push(faults.healthOf(qat)?.state);
    }
    expect(ends).toEqual([undefined, undefined, 'unhealthy']);
    expect(log.lines[0]).toMatchObject({ message: 'Kernel log overwritten before it was read' });
  });

  it('do not end the agent when the log or the state fails', async () => {
    const { kernel, directory, log, start } = aHost();
    const faults = await start();
    writeFileSync(join(directory, 'faults.json.new'), '');
    const broken: KernelLog = {
      next: () => {
        throw new Error('EIO');
      },
      close: () => {},
    };
    expect(await (await start(bootId, broken)).read()).toBe(false);
    expect(log.lines).toMatchObject([{ message: 'Kernel log no longer read', reason: 'EIO' }]);
    writeFileSync(join(directory, 'faults.json'), '{"version":1,"faults":7}');
    const again = await start();
    kernel.write(fatalQat);
    expect([await again.read(), await faults.read()]).toEqual([true, true]);
  });

  it('are in the report, worse than what the driver finds', async () => {
    const { kernel, clock, log, start } = aHost();
    const faults = await start();
    const since = '2026-07-01T00:00:00.000Z';
    const health = { state: 'degraded' as const, reason: 'is warm', since };
    const [hot, well] = [
      { ...aReportedDevice({ address: qat }), health },
      { ...aReportedDevice({ address: gpu }), health },
    ];
    kernel.write(fatalQat);
    await faults.read();
    const drivers = [aDriver('one', hot, well)];
    const discover = createDiscovery({ drivers, faults: [faults], clock, log });
    const { devices, failedDrivers } = await discover();
    expect(failedDrivers).toEqual([]);
    expect(devices.map(({ device }) => device.health?.reason)).toEqual([
      'is warm',
      'has had a fatal error of QAT, which needs a reset',
    ]);
  });
});
