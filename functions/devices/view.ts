import type { Device } from '#core/domain/device.ts';
import { selfLink, timestamp } from '../http/links.ts';
import { isAtLeast, type Microversion } from '../http/microversion.ts';

export function viewDevice(device: Device, base: string, microversion: Microversion) {
  return {
    uuid: device.uuid as string,
    type: device.type,
    vendor: device.vendor,
    model: device.model,
    std_board_info: device.stdBoardInfo ?? null,
    vendor_board_info: device.vendorBoardInfo ?? null,
    hostname: device.hostname,
    ...(isAtLeast(microversion, '2.3') && { status: device.status }),
    created_at: timestamp(device.createdAt),
    updated_at: timestamp(device.updatedAt),
    links: [selfLink(base, `/devices/${device.uuid}`)],
  };
}
