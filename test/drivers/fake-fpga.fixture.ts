// The simulated FPGA.

import { fakeHardwareHost } from './fake-hardware-host.ts';
import type { DriverFixture } from './fixture.ts';
import { ownDriver } from './own-driver.ts';

export const fixture: DriverFixture = {
  module: ownDriver('fake_fpga'),
  host: (place) => fakeHardwareHost(place),
};
