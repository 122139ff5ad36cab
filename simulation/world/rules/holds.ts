import type { Device } from '#core/domain/device/device.ts';
import { type DeviceHold, marksFor } from '#core/domain/device/device-holds.ts';
import { toDeployable } from '#core/store/rows/inventory-rows.ts';
import type { Item } from '#simulation/database/expressions.ts';
import { Violation } from '#simulation/violation.ts';

/** Each device has the marks of the holds that match it, and its deployables follow. */
export function checkHolds(rows: readonly Item[], devices: readonly Device[]): void {
  const row = rows.find(({ pk }) => pk === 'HOLDS');
  const stored = Object.entries(row ?? {}).filter(([name]) => name.startsWith('hold#'));
  const holds = stored.map(([, hold]) => hold as unknown as DeviceHold);
  for (const device of devices) {
    const expected = marksFor(device, holds).map(({ id }) => id);
    const marks = (device.holds ?? []).map(({ id }) => id);
    if (marks.join() !== expected.join()) {
      throw new Violation('L3', `device ${device.uuid} is on hold by ${marks}, not by ${expected}`);
    }
    const deployables = rows.filter(({ sk }) => sk === 'DEPLOYABLE').map(toDeployable);
    const own = deployables.filter(({ deviceUuid }) => deviceUuid === device.uuid);
    if (own.some((each) => (each.isOnHold ?? false) !== marks.length > 0)) {
      throw new Violation('L3', `a deployable of device ${device.uuid} does not follow its holds`);
    }
  }
}
