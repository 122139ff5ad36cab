import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import type { Device } from '#core/domain/device/device.ts';

/**
 * Marks a device whose rows are incomplete: its stored digest matches no report. The host's next
 * report names another digest, the host is asked for the device, and all rows are written again.
 */
export async function markIncomplete(
  deps: ConsumerDeps,
  device: Device,
  providers: readonly StoredProvider[],
): Promise<void> {
  if (device.isGone || device.digest === '' || !isIncomplete(device, providers)) return;
  deps.log.error('Device rows missing: host asked to describe the device', {
    host: device.hostname,
    address: device.address,
  });
  await deps.store.inventory.markIncomplete(device);
}

export function isIncomplete(device: Device, providers: readonly StoredProvider[]): boolean {
  if (providers.length < device.providers.length) return true;
  return providers.some(({ deployable, handles }) => {
    const offered = handles.filter((handle) => !handle.isGone).length;
    return !deployable.isGone && offered < deployable.numAccelerators;
  });
}
