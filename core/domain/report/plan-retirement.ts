// What a report changes of a device that it no longer names. Pure.

import { lostAttachments } from '#core/domain/device/device-attachments.ts';
import type { DevicePlan, StoredDevice } from './device-plan.ts';

/** The rows of a device that the host no longer reports. */
export function planRetirement(stored: StoredDevice, now: string): DevicePlan {
  const lost = lostAttachments(
    stored.providers.flatMap(({ handles }) => handles),
    now,
  );
  const { attachmentFaults: _, ...device } = stored.device;
  return {
    isNew: false,
    device: {
      ...device,
      ...(lost.length > 0 && { attachmentFaults: lost }),
      isGone: true,
      // No device has an empty digest, so a report of the device is applied when it returns.
      digest: '',
      updatedAt: now,
    },
    deployables: stored.providers.map(({ deployable }) => ({
      ...deployable,
      isGone: true,
      updatedAt: now,
    })),
    addHandles: [],
    reviveHandles: [],
    changeHandles: [],
    dropHandles: stored.providers.flatMap((each) => each.handles.filter((h) => !h.isGone)),
  };
}
