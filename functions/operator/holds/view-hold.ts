import { holdAnswer, holdDetailAnswer } from '#core/contracts/api/devices.ts';
import { type Device, operatorStatus } from '#core/domain/device/device.ts';
import type { DeviceHold } from '#core/domain/device/device-holds.ts';
import { toWire } from '#core/shapes/derive/case.ts';

/** @param devices undefined where they were not counted in time */
export function viewHold(
  { selector, ...hold }: DeviceHold,
  devices: readonly Device[] | undefined,
) {
  return toWire(holdAnswer, { ...hold, ...selector, devices: devices?.length });
}

export function viewHoldDetail(
  { selector, ...hold }: DeviceHold,
  devices: readonly Device[] | undefined,
) {
  return toWire(holdDetailAnswer, {
    ...hold,
    ...selector,
    devices: devices?.map((device) => ({
      ...device,
      deviceUuid: device.uuid,
      status: operatorStatus(device.status),
    })),
  });
}
