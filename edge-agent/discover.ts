// Asks all drivers what there is. None can spoil it for the others: one that throws, hangs or talks
// nonsense is named as failed, and what it said before stays as it was.

import {
  pciAddress,
  type ReportedDevice,
  reportedDevice,
} from '#core/contracts/inventory-report.ts';
import type { Clock } from './clock.ts';
import type { Driver } from './drivers/driver.ts';
import { type Log, reasonOf } from './log.ts';

/** A read of a dying device may take a minute or never end; all of a healthy host takes one second. */
const discoverSecondsMax = 30;

export interface Found {
  /** In the order of their addresses. */
  readonly devices: readonly ReportedDevice[];
  readonly failedDrivers: readonly string[];
}

export interface DiscoveryDeps {
  /** In the operator's order: the first driver that claims an address keeps it. */
  readonly drivers: readonly Driver[];
  readonly clock: Clock;
  readonly log: Log;
}

/** Keep what this returns: it remembers which drivers are still busy with an earlier look. */
export function createDiscovery({ drivers, clock, log }: DiscoveryDeps): () => Promise<Found> {
  const busy = new Set<Driver>();

  // A driver that hangs is not asked again until it comes back; else hung threads would pile up.
  const ask = async (driver: Driver) => {
    if (busy.has(driver)) throw new Error('still busy with an earlier look');
    busy.add(driver);
    const answer = driver.discover().finally(() => busy.delete(driver));
    return await withinTime(answer, clock);
  };

  return async () => {
    const answers = await Promise.allSettled(drivers.map(ask));
    const devices = new Map<string, ReportedDevice>();
    const failedDrivers: string[] = [];
    for (const [index, driver] of drivers.entries()) {
      const answer = answers[index];
      if (answer?.status === 'fulfilled') {
        for (const device of valid(answer.value, driver, log)) claim(devices, device, log);
      } else {
        failedDrivers.push(driver.name);
        log.error('A driver could not look.', {
          driver: driver.name,
          reason: reasonOf(answer?.reason),
        });
      }
    }
    const inOrder = [...devices.values()].sort((a, b) => (a.address < b.address ? -1 : 1));
    return { devices: inOrder, failedDrivers };
  };
}

async function withinTime<T>(answer: Promise<T>, clock: Clock): Promise<T> {
  const settled = new AbortController();
  const late = clock.sleep(discoverSecondsMax * 1000, settled.signal).then(() => {
    throw new Error(`no answer within ${discoverSecondsMax} s`);
  });
  // Whichever loses may still reject, and nobody waits for it any more.
  late.catch(() => {});
  answer.catch(() => {});
  try {
    return await Promise.race([answer, late]);
  } finally {
    settled.abort();
  }
}

/** The control plane refuses a whole report for one field; so what it would refuse is left out. */
function valid(answer: Readonly<Record<string, unknown>>, { name }: Driver, log: Log) {
  return Object.entries(answer).flatMap(([address, given]) => {
    const parsed = reportedDevice.safeParse(given);
    const fault = parsed.success
      ? faultOf(parsed.data, address, name)
      : parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
    if (parsed.success && !fault) return [parsed.data];
    log.error('A driver described a device wrongly.', { driver: name, address, reason: fault });
    return [];
  });
}

function faultOf(device: ReportedDevice, address: string, driver: string): string | undefined {
  if (!pciAddress.safeParse(address).success || device.address !== address) {
    return 'its address and its key differ';
  }
  return device.driver === driver ? undefined : `it names driver ${device.driver}`;
}

function claim(devices: Map<string, ReportedDevice>, device: ReportedDevice, log: Log): void {
  const holder = devices.get(device.address);
  if (!holder) devices.set(device.address, device);
  else {
    log.warn('Two drivers claim one device; the first keeps it.', {
      address: device.address,
      kept: holder.driver,
      ignored: device.driver,
    });
  }
}
