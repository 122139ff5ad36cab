import { describe, expect, it } from 'vitest';
import { createFakeDriver } from '#agent/drivers/fake/index.ts';
import { reportedDevice } from '#core/contracts/report/inventory-report.ts';

describe('the fake driver', () => {
  it('finds what the fake driver of Cyborg finds', async () => {
    const { devices } = await createFakeDriver().discover();
    expect(Object.keys(devices)).toEqual(['0000:0c:00.0']);
    const [device] = Object.values(devices);
    expect(reportedDevice.parse(device)).toEqual(device);
    expect(device).toMatchObject({
      address: '0000:0c:00.0',
      type: 'FPGA',
      vendor: '0xABCD',
      product: '0xabcd',
      model: 'miss model info',
      std_board_info: '{"device_id": "0xabcd", "class": "Fake class"}',
      vendor_board_info: 'fake_vendor_info',
      provider_suffix: 'FakeDevice',
      offers: { resource_class: 'FPGA', traits: ['CUSTOM_FAKE_DEVICE'] },
    });
  });

  it('numbers its 16 handles as Cyborg does', async () => {
    const [device] = Object.values((await createFakeDriver().discover()).devices);
    const handles = device?.offers?.attach_handles ?? [];
    expect(handles.map(({ type }) => type)).toEqual(Array.from({ length: 16 }, () => 'TEST_PCI'));
    expect(handles.map(({ info }) => `${info.device}.${info.function}`)).toEqual(
      ['0.1', '0.2', '0.3', '0.4', '0.5', '0.6', '0.7', '1.0'].concat([
        '1.1',
        '1.2',
        '1.3',
        '1.4',
        '1.5',
        '1.6',
        '1.7',
        '2.0',
      ]),
    );
    expect(handles[0]?.info).toEqual({ domain: '0000', bus: '0c', device: '0', function: '1' });
  });
});
