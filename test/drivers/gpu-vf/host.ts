// Driver gpu_vf on a simulated host, with the calls that its tests make.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
  const directory = mkdtempSync(join(tmpdir(), 'gpu-vf-'));
  const clock = sleepingClock({ nowMs: 0 });
  return {
    ...{ host, kernel },
    path: `bus/pci/devices/${gpu}`,
    /** The agent's driver, as after its start. */
    driver: async (cards: object | readonly object[]) => {
      const settings = gpuVfSettings.parse({ cards: [cards].flat() });
      const { sysfs, log } = host;
      const guards = await host.guards();
      const driver = createGpuVfDriver(settings, {
        ...{ directory, thing: 'test:cmp1', bootId: 'boot-1', clock, log, sysfs, guards },
        hardware: { ...host.hardware, ...kernel.hardware() },
        isPrepared: () => false,
      });
      const discover = async () => {
        const { devices, notOffered = [] } = await driver.discover();
        for (const each of Object.values(devices)) expect(reportedDevice.parse(each)).toEqual(each);
        const device = devices[gpu];
        const handles = device?.offers?.attach_handles ?? [];
        return { device, handles, reasons: notOffered.map(({ reason }) => reason) };
      };
      const plan = async () => (await driver.plan?.()) ?? [];
      const clean = async (fn: string) => driver.clean?.(workOf(fn), () => {});
      return { discover, plan, clean, setUp: () => setUp(driver, log) };
    },
    remove: () => {
      host.remove();
      rmSync(directory, { recursive: true });
    },
  };
}

function workOf(fn: string): HandleWork {
  const info = { domain: '0000', bus: '3b', device: '00', function: fn };
  return { address: gpu, uuid: '91ac1606-427e-44bb-8233-f4ff4bf3d241', type: 'PCI', info };
}
