// Builders for tests of the agent: a test names only what matters to it.

import type { Clock } from '#agent/clock.ts';
import type { Driver } from '#agent/drivers/contract/driver.ts';
import type { Log, LogFields } from '#agent/log.ts';
import type { PciFunction } from '#agent/sysfs/pci.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';

export const silentLog: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** A log whose lines a test can read. */
export function aLog(): Log & { readonly lines: ({ message: string } & LogFields)[] } {
  const lines: ({ message: string } & LogFields)[] = [];
  const write = (message: string, fields?: LogFields) => lines.push({ message, ...fields });
  return { lines, debug: write, info: write, warn: write, error: write };
}

export function aReportedDevice(given: Partial<ReportedDevice> = {}): ReportedDevice {
  return {
    address: '0000:3b:00.0',
    driver: 'a_driver',
    type: 'GPU',
    vendor: '10de',
    product: '2235',
    model: '2235',
    offers: { resource_class: 'PGPU', traits: [], attach_handles: [] },
    regions: [],
    ...given,
  };
}

/** A fake driver that finds these devices, all with its name. */
export function aDriver(name: string, ...devices: ReportedDevice[]): Driver {
  const found = devices.map((device) => [device.address, { ...device, driver: name }]);
  return { name, discover: async () => ({ devices: Object.fromEntries(found) }) };
}

/** A clock that a test moves, and that wakes sleepers when it is moved. */
export function aClock(): Clock & { advance(milliseconds: number): Promise<void> } {
  let now = 0;
  const sleepers = new Set<{ readonly until: number; readonly wake: () => void }>();
  return {
    monotonicMs: () => now,
    wallMs: () => now,
    sleep: (milliseconds, signal) =>
      new Promise((resolve) => {
        const wake = () => {
          sleepers.delete(sleeper);
          resolve();
        };
        const sleeper = { until: now + milliseconds, wake };
        if (signal?.aborted) return resolve();
        signal?.addEventListener('abort', wake, { once: true });
        sleepers.add(sleeper);
      }),
    advance: async (milliseconds) => {
      const end = now + milliseconds;
      for (;;) {
        await settle();
        const [next] = [...sleepers].sort((a, b) => a.until - b.until);
        if (!next || next.until > end) break;
        now = Math.max(now, next.until);
        next.wake();
      }
      now = end;
      await settle();
    },
  };
}

/** Waits until all promises are settled that wait for no clock, including file operations. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

export function aPciFunction(given: Partial<PciFunction> = {}): PciFunction {
  const address = given.address ?? '0000:3b:00.0';
  return {
    address,
    path: `bus/pci/devices/${address}`,
    vendorId: '10de',
    productId: '2235',
    subsystemId: '10de:145a',
    classCode: '030200',
    iommuGroup: '1',
    ...given,
  };
}
