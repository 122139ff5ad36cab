import { expect, it } from 'vitest';
import { createFakeDriver } from '#agent/drivers/fake/index.ts';
import { reportedDevice } from '#core/contracts/report/inventory-report.ts';
import { aDevice } from '#test/support/reports.ts';

it('the fake driver finds what that of Cyborg finds, and numbers its 16 handles alike', async () => {
  const { devices } = await createFakeDriver().discover();
  const [device] = Object.values(devices);
  expect(reportedDevice.parse(device)).toEqual(device);
  expect(devices).toEqual({
    '0000:0c:00.0': {
      ...aDevice({ driver: 'fake', handles: 16 }),
      std_board_info: '{"device_id": "0xabcd", "class": "Fake class"}',
      vendor_board_info: 'fake_vendor_info',
    },
  });
});
