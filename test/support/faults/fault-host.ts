// A host whose kernel log a test writes, with a GPU below a switch.

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDeviceFaults } from '#agent/faults/device-faults.ts';
import { openFaultRecords } from '#agent/faults/fault-records.ts';
import { openConfirmations } from '#agent/state/confirmations.ts';
import { openStateFiles } from '#agent/state/state-files.ts';
import { openSysfs } from '#agent/sysfs/root.ts';
import { aClock, aLog } from '#test/support/hosts/agent.ts';
import { aSysfsTree } from '#test/support/hosts/sysfs.ts';
import { aKernelLog, toRecord } from './kernel-log.ts';

export const [gpu, bare, vfio] = ['0000:3b:00.0', '0000:3c:00.0', '0000:3d:00.0'];
export const [port, downstream, nic] = ['0000:00:01.1', '0000:40:00.0', '0000:41:00.0'];

export function aFaultHost() {
  const tree = aSysfsTree()
    .addFunction({ address: port, vendor: '8086', classCode: '060400', driver: 'pcieport' })
    .addFunction({ address: downstream, classCode: '060400', driver: 'pcieport', below: port })
    .addFunction({ address: gpu, product: '26b5', driver: 'nvidia', below: downstream })
    .addFunction({ address: bare, product: '26b5', driver: undefined })
    .addFunction({ address: vfio, product: '26b5' })
    .addFunction({ address: nic, vendor: '15b3', classCode: '020000', driver: 'mlx5_core' });
  const directory = mkdtempSync(join(tmpdir(), 'faults-'));
  const files = openStateFiles(directory);
  const kernel = aKernelLog();
  const clock = aClock();
  const log = aLog();
  const start = async (bootId = 'a', kernelLog = kernel) =>
    createDeviceFaults({
      kernelLog: kernelLog.open(),
      records: await openFaultRecords(files, bootId, log),
      confirmations: openConfirmations(files, log),
      bootedMs: 0,
      sysfs: openSysfs(tree.root),
      clock,
      log,
    });
  /** Reads lines that the kernel writes at these intervals. */
  const read = async (lines: readonly string[], stepMs = 100) => {
    const faults = await start();
    for (const [index, line] of lines.entries()) kernel.write(toRecord(line), index * stepMs);
    await faults.read();
    return faults;
  };
  return { tree, files, kernel, clock, log, start, read, directory };
}

/** The state of a device after these lines. */
export const stateAfter = async (lines: readonly string[], address: string, stepMs?: number) =>
  (await aFaultHost().read(lines, stepMs)).healthOf(address)?.state;
