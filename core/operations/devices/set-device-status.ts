import type { Deps } from '#core/deps.ts';
import type { Caller } from '#core/domain/caller.ts';
import type { DeviceStatus } from '#core/domain/device/device.ts';
import type { ProviderUuid } from '#core/domain/ids.ts';
import { contended, untilWritten } from '#core/operations/optimistic-writes.ts';
import { present } from '#core/shapes/derive/present.ts';
import { timeNow } from '../time-now.ts';
import { readDevice } from './find-by-id.ts';

/**
 * Enables a device, or puts it into maintenance: no new bind gets a handle of it, and Placement
 * reserves all its providers. Bound ARQs stay bound. The same status again only changes the
 * reason.
 *
 * @throws DeviceNotFound
 */
export async function setDeviceStatus(
  deps: Deps,
  caller: Caller,
  uuid: string,
  status: DeviceStatus,
  reason: string | undefined,
): Promise<void> {
  await untilWritten(
    'devices',
    () => setOnce(deps, caller, uuid, status, reason),
    `The status of device ${uuid} was not set`,
  );
}

async function setOnce(
  deps: Deps,
  caller: Caller,
  uuid: string,
  status: DeviceStatus,
  reason: string | undefined,
): Promise<typeof contended | undefined> {
  const { device } = await readDevice(deps, uuid);
  // The device names a region that has vanished until its next report, also without the region's
  // row.
  const providers = await storedProviders(deps, device.providers);
  const change = {
    status,
    by: caller.userId,
    at: timeNow(deps),
    ...present({ reason }),
    requestId: caller.requestId,
  };
  if (!(await deps.store.inventory.putStatus({ ...device, providers }, change))) return contended;
  deps.log.info('Device status set', { device: device.uuid, status, by: caller.userId, reason });
  return undefined;
}

/** Those of the providers that have a row. */
export async function storedProviders(
  deps: Deps,
  providers: readonly ProviderUuid[],
): Promise<ProviderUuid[]> {
  const stored = await deps.store.inventory.providers(providers);
  return stored.map(({ deployable }) => deployable.providerUuid);
}
