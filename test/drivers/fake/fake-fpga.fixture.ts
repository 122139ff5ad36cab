// The simulated FPGA.

import type { DriverFixture } from '#test/drivers/fixture.ts';
import { ownDriver } from '#test/support/hosts/own-driver.ts';
import { fakeHardwareHost } from './host.ts';

export const fixture: DriverFixture = {
  module: ownDriver('fake_fpga'),
  host: (place) => fakeHardwareHost(place),
};
