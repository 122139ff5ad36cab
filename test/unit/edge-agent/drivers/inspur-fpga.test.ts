import { describe, expect, it } from 'vitest';
import { createModelDriver } from '#agent/drivers/by-model/driver.ts';
import { inspurFpgas } from '#agent/drivers/by-model/inspur-fpgas.ts';
import { modelSettings } from '#agent/drivers/by-model/settings.ts';
import { reportedDevice } from '#core/contracts/report/inventory-report.ts';
import { aGuardedHost } from '#test/support/hosts/guarded-host.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const address = '0000:86:00.0';
const fpga = { address, vendor: '1bd4', product: 'a115', classCode: '120000' };
const ssd = { ...fpga, product: '1001', classCode: '010802' };

const host = perTest(aGuardedHost);

async function driverOf(settings: object) {
  const values = modelSettings(inspurFpgas).parse(settings);
  return createModelDriver(inspurFpgas, values, await host.context());
}

describe('driver inspur_fpga', () => {
  it.each([
    ['F10A', '0911'],
    ['FPGA a115', 'a115'],
  ])('offers the model %s with the class and the traits of Cyborg', async (model, product) => {
    host.tree.addFunction({ ...fpga, product });
    const { devices } = await (await driverOf({ devices: [{ model }] })).discover();
    expect(reportedDevice.parse(devices[address])).toMatchObject({
      driver: 'inspur_fpga',
      type: 'FPGA',
      vendor: '1bd4',
      product,
      model,
      offers: {
        resource_class: 'FPGA',
        traits: expect.arrayContaining([
          'CUSTOM_FPGA_INSPUR',
          `CUSTOM_FPGA_PRODUCT_ID_${product.toUpperCase()}`,
        ]) as string[],
        attach_handles: [{ type: 'PCI', clean_seconds: 300 }],
      },
      regions: [],
    });
  });

  it('does not program, as in Cyborg', async () => {
    expect(await driverOf({ devices: [{ model: 'F10A' }] })).not.toHaveProperty('images');
  });

  it('does not offer an SSD of the same vendor', async () => {
    host.tree.addFunction(ssd);
    const driver = await driverOf({ devices: [{ addresses: address }] });
    expect(await driver.discover()).toEqual({
      devices: {},
      notOffered: [
        {
          address,
          reason: 'is 1bd4:1001, which no model has: add a row for it to inspur_fpga.rows',
        },
      ],
    });
  });
});
