// Driver gpu_vf on a simulated host, with the calls that its tests make.

import { expect } from 'vitest';
import type { HandleWork } from '#agent/drivers/contract/driver.ts';
import { createGpuVfDriver } from '#agent/drivers/gpu-vf/index.ts';
import { gpuVfSettings } from '#agent/drivers/gpu-vf/settings.ts';
import { setUp } from '#agent/process/set-up.ts';
import { reportedDevice } from '#core/contracts/report/inventory-report.ts';
import { sleepingClock } from '#test/support/hosts/driver-host.ts';
import { aGuardedHost } from '#test/support/hosts/guarded-host.ts';
import { GpuVfKernel } from './kernel.ts';

export const gpu = '0000:3b:00.0';

export function aGpuVfHost() {
  const host = aGuardedHost();
  const kernel = new GpuVfKernel(host.tree);
  const clock = sleepingClock({ nowMs: 0 });
  return {
    host,
    kernel,
    path: `bus/pci/devices/${gpu}`,
    /** The agent's driver, as after its start. */
    driver: async (cards: object | readonly object[]) => {
      const settings = gpuVfSettings.parse({ cards: [cards].flat() });
      const hardware = { ...host.hardware, ...kernel.hardware() };
      const driver = createGpuVfDriver(settings, await host.context({ clock, hardware }));
      const discover = async () => {
        const { devices, notOffered = [] } = await driver.discover();
        for (const each of Object.values(devices)) expect(reportedDevice.parse(each)).toEqual(each);
        const device = devices[gpu];
        const handles = device?.offers?.attach_handles ?? [];
        return { device, handles, reasons: notOffered.map(({ reason }) => reason) };
      };
      const plan = async () => (await driver.plan?.()) ?? [];
      const clean = async (fn: string) => driver.clean?.(workOf(fn), () => {});
      return { discover, plan, clean, setUp: () => setUp(driver, host.log) };
    },
    remove: () => host.remove(),
  };
}

function workOf(fn: string): HandleWork {
  const info = { domain: '0000', bus: '3b', device: '00', function: fn };
  return { address: gpu, uuid: '91ac1606-427e-44bb-8233-f4ff4bf3d241', type: 'PCI', info };
}
