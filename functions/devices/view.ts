import type { Device } from '#core/domain/device/device.ts';
import { selfLink, timestamp } from '#functions/http/links.ts';

/** @param seesUsers who reads devices without the operators' role sees no ids of users */
export function viewDevice(device: Device, base: string, seesUsers: boolean) {
  const change = device.statusChange;
  return {
    uuid: device.uuid as string,
    type: device.type,
    vendor: device.vendor,
    model: device.model,
    std_board_info: device.stdBoardInfo ?? null,
    vendor_board_info: device.vendorBoardInfo ?? null,
    hostname: device.hostname,
    status: device.status,
    reason: change?.reason ?? null,
    status_changed_by: (seesUsers && change?.by) || null,
    status_changed_at: timestamp(change?.at),
    created_at: timestamp(device.createdAt),
    updated_at: timestamp(updatedAt(device)),
    links: [selfLink(base, `/devices/${device.uuid}`)],
  };
}

/** The last change, by a report or by an operator. */
function updatedAt({ updatedAt: reported, statusChange }: Device): string | undefined {
  const times = [reported, statusChange?.at].filter((each) => each !== undefined);
  return times.sort().at(-1);
}
