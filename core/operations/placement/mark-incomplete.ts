import type { ConsumerDeps } from '../../consumer-deps.ts';
import type { StoredProvider } from '../../domain/bind-plan.ts';
import type { Device } from '../../domain/device.ts';

/**
 * A device whose rows are not all there is stored as no report has it: its host's next one names
 * another digest, the device is asked for, and its rows are written again.
 */
export async function markIncomplete(
  deps: ConsumerDeps,
  device: Device,
  providers: readonly StoredProvider[],
): Promise<void> {
  if (device.isGone || device.digest === '' || !isIncomplete(device, providers)) return;
  deps.log.error('Rows of a device are missing; its host is to describe it again.', {
    host: device.hostname,
    address: device.address,
  });
  await deps.store.inventory.doubt(device);
}

export function isIncomplete(device: Device, providers: readonly StoredProvider[]): boolean {
  if (providers.length < device.providers.length) return true;
  return providers.some(({ deployable, handles }) => {
    const offered = handles.filter((handle) => !handle.isGone).length;
    return !deployable.isGone && offered < deployable.numAccelerators;
  });
}
