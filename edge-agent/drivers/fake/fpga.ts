// A simulated FPGA with one reconfigurable region, to try programming without hardware. Its
// handle is TEST_PCI, which hypervisors ignore.

import * as z from 'zod';
import type { Driver } from '#agent/drivers/contract/driver.ts';
import { checkImage, readGbs } from '#agent/images/image-check.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { type FakeHardwareDeps, openFakeHardware, toError } from './hardware.ts';

const address = '0000:0d:00.0';
const region = 'region0';
/** The interface that images must be built for. */
const regionTypeUuid = '9926ab6d-6c92-5a68-aabc-a7d84c545738';

const form = z.object({ imageId: z.string().optional(), functionUuid: z.string().optional() });
type State = z.infer<typeof form>;

export function createFakeFpgaDriver(deps: FakeHardwareDeps): Driver {
  const hardware = openFakeHardware<State>(deps, 'fpga', form, {});
  return {
    name: 'fake_fpga',
    discover: async () => {
      if (!hardware.isPresent()) return { devices: {} };
      await hardware.touch('discover');
      return { devices: { [address]: describe(hardware.read()) } };
    },
    images: {
      check: checkImage,
      write: async (image, onProgress) => {
        if (image.address !== address || image.region !== region) {
          throw toError('ENODEV', 'program');
        }
        const { functionUuid } = await readGbs(image.imagePath);
        onProgress(0);
        await hardware.operate(
          'program',
          () => ({ imageId: image.imageId, functionUuid }),
          // Like real hardware, the region has no function while it is programmed.
          () => ({}),
        );
        onProgress(100);
      },
    },
  };
}

function describe({ imageId, functionUuid }: State): ReportedDevice {
  return {
    address,
    driver: 'fake_fpga',
    type: 'FPGA',
    vendor: '0xABCD',
    product: '0xf01a',
    model: 'fake FPGA',
    std_board_info: '{"product_id": "0xf01a", "class": "Fake class"}',
    vendor_board_info: 'fake_vendor_info',
    regions: [
      {
        name: region,
        kind: 'reconfigurable-region',
        'region-type-uuid': regionTypeUuid,
        ...(imageId && { 'bitstream-id': imageId }),
        ...(functionUuid && { 'function-uuid': functionUuid }),
        resource_class: 'FPGA',
        traits: [],
        attach_handles: [
          { type: 'TEST_PCI', info: { domain: '0000', bus: '0d', device: '00', function: '0' } },
        ],
      },
    ],
  };
}
