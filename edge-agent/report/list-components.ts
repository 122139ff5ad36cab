// What the components of devices run, with a time limit for each device: no report waits for a
// device that does not answer.

import type { Clock } from '#agent/clock.ts';
import type { Driver, ReportedComponent } from '#agent/drivers/contract/driver.ts';
import { type LogFields, reasonOf } from '#agent/log.ts';
import type { ComponentRecords } from '#agent/state/component-records.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { present } from '#core/shapes/derive/present.ts';
import { deviceComponents } from '#core/shapes/device.ts';
import { inTime } from './in-time.ts';

/** The same as for the discovery itself. */
const listSecondsMax = 30;

interface ListDeps {
  readonly records: Pick<ComponentRecords, 'progressOf'> | undefined;
  readonly clock: Clock;
}

/** Keep the returned function: it remembers the devices that have not answered yet. */
export function createComponentLists({ records, clock }: ListDeps) {
  const late = new Set<string>();

  const list = async ({ name, components }: Driver, address: string) => {
    if (!components) return [];
    const key = `${name} ${address}`;
    if (late.has(key)) throw new Error('still busy with an earlier read of its components');
    const running = components.list(address).finally(() => late.delete(key));
    const listed = await inTime(clock, listSecondsMax, running, () => {
      late.add(key);
      return new Error(`its components have not answered within ${listSecondsMax} s`);
    });
    const { data, error } = deviceComponents.safeParse(listed);
    if (data) return data;
    const faults = error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    throw new Error(`its components are invalid: ${faults.join('; ').slice(0, 255)}`);
  };
  const withProgress = (address: string) => (component: ReportedComponent) => ({
    ...component,
    ...present({ percent: records?.progressOf(address, component.name) }),
  });

  /** The device with what its components run; without those that cannot be read. */
  return async (
    driver: Driver,
    device: ReportedDevice,
    warn: (fields: LogFields) => void,
  ): Promise<ReportedDevice> => {
    const { address } = device;
    try {
      const components = (await list(driver, address)).map(withProgress(address));
      return components.length > 0 ? { ...device, components } : device;
    } catch (error) {
      warn({ driver: driver.name, address, reason: reasonOf(error) });
      return device;
    }
  };
}
