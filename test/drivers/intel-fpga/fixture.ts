// Two FPGA cards whose ports go to virtual functions; in the second fixture cards that are passed
// through as a whole, and in the third one on OPAE's driver intel-fpga. Kernel, cards and programs
// are simulated.

import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DriverFixture, type FixtureHost, simulatedHost } from '#test/drivers/fixture.ts';
import { aGbs, fakeInterface } from '#test/support/hosts/gbs.ts';
import { ownDriver } from '#test/support/hosts/own-driver.ts';
import { aSysfsTree } from '#test/support/hosts/sysfs.ts';
import { FpgaKernel, type SimulatedCard } from './kernel.ts';

const addresses = ['0000:5e:00.0', '0000:af:00.0'] as const;
const bus = ['bus/pci/devices'];
const blank = join(tmpdir(), `blank-${process.pid}.gbs`);
const blankFunction = '00000000-0000-4000-8000-00000000b1a4';
/** Its presence is all that is asked of it. */
const tool = '/bin/true';
const blanks = { blank_images: { [fakeInterface]: blank }, fpgaconf: tool };

function hostOf(given: Partial<SimulatedCard>): FixtureHost {
  writeFileSync(blank, aGbs({ functionUuid: blankFunction }));
  const tree = aSysfsTree();
  const kernel = new FpgaKernel(tree);
  for (const address of addresses) kernel.add(address, { ...given, taken: [] });
  return simulatedHost(tree, kernel);
}

const module = ownDriver('intel_fpga');

export const fixture: DriverFixture = {
  module,
  bus,
  host: () => hostOf({ atBoot: blankFunction }),
  settings: { cards: [...addresses], ...blanks },
};

export const whole: DriverFixture = {
  module,
  bus,
  host: () => hostOf({ atBoot: blankFunction }),
  settings: { cards: [{ addresses, virtual_functions: false }], ...blanks },
};

export const legacy: DriverFixture = {
  module,
  bus,
  host: () => hostOf({ stack: 'intel-fpga', atBoot: blankFunction }),
  settings: { cards: [...addresses], ...blanks },
};

/** Cards with several ports, which keep what they hold. */
export const several: DriverFixture = {
  module,
  bus,
  host: () => hostOf({ ports: 2 }),
  settings: { cards: [...addresses], clean: 'none', data_may_stay: true },
};
