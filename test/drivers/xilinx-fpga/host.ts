// Driver xilinx_fpga on a simulated host, with the calls that its tests make.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect } from 'vitest';
import { createXilinxDriver } from '#agent/drivers/xilinx-fpga/index.ts';
import { xilinxSettings } from '#agent/drivers/xilinx-fpga/settings.ts';
import { setUp } from '#agent/process/set-up.ts';
import { reportedDevice } from '#core/contracts/report/inventory-report.ts';
import { sleepingClock } from '#test/support/hosts/driver-host.ts';
import { aGuardedHost } from '#test/support/hosts/guarded-host.ts';
import { XrtKernel } from './kernel.ts';
import { anXclbin, type XclbinGiven } from './xclbin.ts';

export const slot = '0000:d8:00';
export const card = `${slot}.0`;
export const imageId = '0f1a2b3c-0000-4000-8000-00000000000a';
export const blankUuid = '00000000-0000-4000-8000-0000000000b1';

export function aXilinxHost() {
  const host = aGuardedHost();
  const kernel = new XrtKernel(host.tree);
  const directory = mkdtempSync(join(tmpdir(), 'xilinx-'));
  const blank = join(directory, 'blank.xclbin');
  writeFileSync(blank, anXclbin({ uuid: blankUuid }));
  const clock = sleepingClock({ nowMs: 0 });
  return {
    host,
    kernel,
    blank,
    directory,
    /** The agent's driver, as after its start. */
    driver: async (cards: object = {}, bootId = 'boot-1') => {
      const settings = xilinxSettings.parse({
        cards: [{ addresses: card, ...cards }],
        data_may_stay: true,
      });
      const { sysfs, log } = host;
      const driver = createXilinxDriver(settings, {
        directory: join(directory, 'state'),
        thing: 'test:cmp1',
        bootId,
        clock,
        log,
        sysfs,
        guards: await host.guards(),
        hardware: {
          ...host.hardware,
          ...kernel.hardware(),
          readText: async (device, path) => {
            const fault = kernel.faults.get(`read ${basename(path)}`);
            if (fault instanceof Error) throw fault;
            return typeof fault === 'string' ? fault : await host.hardware.readText(device, path);
          },
        },
        isPrepared: () => false,
        prepared: () => [],
      });
      return {
        components: driver.components,
        setUp: () => setUp(driver, log),
        plan: async () => (await driver.plan?.()) ?? [],
        discover: async () => {
          const { devices, notOffered = [] } = await driver.discover();
          for (const each of Object.values(devices)) {
            expect(reportedDevice.parse(each)).toEqual(each);
          }
          const device = devices[card];
          const reasons = notOffered.map(({ reason }) => reason);
          return { devices, device, region: device?.regions[0], reasons };
        },
        program: async (image: XclbinGiven = {}, percents: number[] = []) => {
          const imagePath = join(directory, 'image.xclbin');
          writeFileSync(imagePath, anXclbin(image));
          const given = { address: card, region: 'region0', imageId, imagePath };
          await driver.images?.write(given, (percent) => percents.push(percent));
        },
        clean: async () => {
          const info = { domain: '0000', bus: 'd8', device: '00', function: '0' };
          const uuid = '91ac1606-427e-44bb-8233-f4ff4bf3d241';
          return await driver.clean?.({ address: card, uuid, type: 'PCI', info }, () => {});
        },
      };
    },
    drivers: () => ['0', '1'].map((fn) => kernel.driverOf(`${slot}.${fn}`)),
    remove: () => {
      host.remove();
      rmSync(directory, { recursive: true });
    },
  };
}
