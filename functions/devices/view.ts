import { deviceAnswer } from '#core/contracts/api/devices.ts';
import type { Device } from '#core/domain/device/device.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { selfLink } from '#functions/http/links.ts';
import { viewPrograms } from '#functions/http/programs.ts';

/** @param seesUsers who reads devices without the operators' role sees no ids of users */
export function viewDevice(device: Device, base: string, seesUsers: boolean) {
  const { reason, by, at } = device.statusChange ?? {};
  return toWire(deviceAnswer, {
    ...device,
    reason,
    statusChangedBy: seesUsers ? by : undefined,
    statusChangedAt: at,
    updatedAt: updatedAt(device),
    programs: viewPrograms(device, seesUsers),
    links: [selfLink(base, `/devices/${device.uuid}`)],
  });
}

/** The last change, by a report or by an operator. */
function updatedAt({ updatedAt: reported, statusChange }: Device): string | undefined {
  const times = [reported, statusChange?.at].filter((each) => each !== undefined);
  return times.sort().at(-1);
}
