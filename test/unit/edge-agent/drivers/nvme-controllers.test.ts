// A controller that the kernel is starting: it is shown before it has been identified, and the
// kernel prints `(efault)` for its serial number until then.

import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { systemClock } from '#agent/clock.ts';
import { openKnownControllers, waitForController } from '#agent/drivers/nvme/controllers.ts';
import { readPciFunctions } from '#agent/sysfs/pci.ts';
import { openSysfs, type Sysfs } from '#agent/sysfs/root.ts';
import { NvmeKernel } from '#test/drivers/nvme/kernel.ts';
import { SysfsTree } from '#test/support/hosts/sysfs.ts';
import { directoryPerTest } from '#test/support/vitest/shared.ts';

const address = '0000:c1:00.0';
const directory = directoryPerTest();
let sysfs: Sysfs;

beforeEach(() => {
  const tree = new SysfsTree(join(directory, 'sys'));
  new NvmeKernel(tree).add({ address });
  sysfs = openSysfs(tree.root);
});

const early: Readonly<Record<string, string>> = { state: 'connecting', serial: '(efault)' };
const earlyValue = (path: string) =>
  path.startsWith('class/nvme/nvme0/') ? early[path.split('/').at(-1) ?? ''] : undefined;

it('has no serial number of before it was live', async () => {
  let reads = 0;
  const starting: Sysfs = {
    ...sysfs,
    // The kernel has identified it by the second look at one of the two.
    readAttribute: (path) => {
      const value = earlyValue(path);
      return value !== undefined && reads++ === 0 ? value : sysfs.readAttribute(path);
    },
  };
  const clock = { ...systemClock, sleep: async () => {} };
  const { facts } = await waitForController({ sysfs: starting, clock }, address);
  expect(facts.serial).toBe('S-c1');
});

it('is not known by the serial number of before it was live', async () => {
  const starting: Sysfs = {
    ...sysfs,
    readAttribute: (path) => earlyValue(path) ?? sysfs.readAttribute(path),
  };
  const functions = readPciFunctions(sysfs, () => {});
  const controllers = openKnownControllers(starting, join(directory, 'state'));
  await controllers.remember(functions);
  expect(controllers.factsFor(functions).get(address)).toBeUndefined();
});
