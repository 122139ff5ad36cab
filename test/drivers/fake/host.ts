// The host of the fake drivers with hardware: its state and its faults are files that they share.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { DriverFault, FixtureHost, Place } from '#test/drivers/fixture.ts';
import { aSysfsTree } from '#test/support/hosts/sysfs.ts';

const hangMs = 600_000;

export function fakeHardwareHost({ directory }: Place) {
  const tree = aSysfsTree();
  const folder = join(dirname(directory), 'fake-hardware');
  mkdirSync(folder, { recursive: true });
  const faults = join(folder, 'faults.json');
  return {
    root: tree.root,
    folder,
    fault: (given: DriverFault | undefined) => {
      rmSync(faults, { force: true });
      if (!given) return;
      const { verb, code } = given;
      const fault = code === 'hangs' ? { delayMs: { [verb]: hangMs } } : { fail: { [verb]: code } };
      writeFileSync(faults, JSON.stringify(fault));
    },
    remove: () => tree.remove(),
  } satisfies FixtureHost & { folder: string };
}

export function jsonIn(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
