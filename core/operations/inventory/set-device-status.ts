import type { Deps } from '../../deps.ts';
import type { Caller } from '../../domain/caller.ts';
import type { DeviceStatus } from '../../domain/device.ts';
import { DeviceNotFound } from '../../domain/errors.ts';
import type { ProviderUuid } from '../../domain/ids.ts';
import { findDevice } from './find-by-id.ts';

/** As often as the device's providers may change between reading and writing. */
const roundsMax = 5;

/**
 * Enables a device, or takes it into maintenance: no new bind gets anything of it, and Placement
 * reserves all its providers. What is bound stays. Again with the same status: only the reason is new.
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
  for (let round = 1; round <= roundsMax; round++) {
    const found = await findDevice(deps, uuid);
    // The index says where the device is; what it is made of is read from the table.
    const { devices } = await deps.store.inventory.host(found.hostname);
    const device = devices.find((each) => each.uuid === found.uuid);
    if (!device) throw new DeviceNotFound(uuid);
    // Of a region that has left there may be no row any more; the device names it until its next report.
    const providers = await presentOf(deps, device.providers);
    const change = {
      status,
      by: caller.userId,
      at: new Date(deps.clock()).toISOString(),
      ...(reason !== undefined && { reason }),
      requestId: caller.requestId,
    };
    if (await deps.store.inventory.putStatus({ ...device, providers }, change)) {
      deps.log.info('Device status set.', {
        device: device.uuid,
        status,
        by: caller.userId,
        reason,
      });
      return;
    }
  }
  throw new Error(`The status of device ${uuid} was not set in ${roundsMax} rounds.`);
}

async function presentOf(deps: Deps, providers: readonly ProviderUuid[]): Promise<ProviderUuid[]> {
  const stored = await deps.store.inventory.providers(providers);
  return stored.map(({ deployable }) => deployable.providerUuid);
}
