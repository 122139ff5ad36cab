// The simulated GPU; another program makes its mdevs by writing its state.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import type { DriverFixture } from '#test/drivers/fixture.ts';
import { ownDriver } from '#test/support/hosts/own-driver.ts';
import { fakeHardwareHost, jsonIn } from './host.ts';

const mdev = z.object({ address: z.string(), type: z.string(), uuid: z.string() });
const form = z.object({
  boot_id: z.string(),
  state: z.object({ mdevs: z.array(mdev) }),
  writes: z.number(),
});

export const fixture: DriverFixture = {
  module: ownDriver('fake_gpu'),
  host: (place) => {
    const host = fakeHardwareHost(place);
    const file = join(host.folder, 'gpu.json');
    const read = () => form.safeParse(jsonIn(file)).data;
    return {
      ...host,
      objects: () => {
        const found = read();
        const isLost = found?.boot_id !== place.bootId();
        return isLost ? [] : found.state.mdevs.map(({ uuid }) => uuid);
      },
      makeForeign: ({ address, uuid }) => {
        const mdevs = [...(read()?.state.mdevs ?? []), { address, type: 'fake-2', uuid }];
        writeFileSync(
          file,
          JSON.stringify({ boot_id: place.bootId(), state: { mdevs }, writes: 1 }),
        );
      },
    };
  },
};
