// Devices and deployables by what the API calls them: a uuid, or the integer made of it.

import type { Deps } from '#core/deps.ts';
import type { Deployable, Device } from '#core/domain/device/device.ts';
import { DeployableNotFound, DeviceNotFound } from '#core/domain/errors.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import { isIntegerText, uuidPrefix } from '#core/domain/integer-id.ts';
import { isUuid } from '#core/domain/uuid-form.ts';

/** @throws DeviceNotFound */
export async function findDevice(deps: Deps, id: string): Promise<Device> {
  const { listings } = deps;
  const device = isUuid(id)
    ? await listings.deviceByUuid(id.toLowerCase())
    : await only(id, (prefix) => listings.devicesByPrefix(prefix));
  if (!device) throw new DeviceNotFound(id);
  return device;
}

/**
 * The device as its table has it: the index only says which host has it.
 *
 * @throws DeviceNotFound
 */
export async function readDevice(deps: Deps, id: string): Promise<HostDevice> {
  const listed = await findDevice(deps, id);
  const { host, devices } = await deps.store.inventory.host(listed.hostname);
  const device = devices.find(({ uuid }) => uuid === listed.uuid);
  if (!device) throw new DeviceNotFound(id);
  return { host, device };
}

interface HostDevice {
  readonly host: StoredHost;
  readonly device: Device;
}

/** @throws DeployableNotFound */
export async function findDeployable(deps: Deps, id: string): Promise<Deployable> {
  const { listings } = deps;
  const deployable = isUuid(id)
    ? await listings.deployableByUuid(id.toLowerCase())
    : await only(id, (prefix) => listings.deployablesByPrefix(prefix));
  if (!deployable) throw new DeployableNotFound(id);
  return deployable;
}

/** Undefined where two items have the same integer: the id is ambiguous. */
async function only<T>(
  id: string,
  byPrefix: (prefix: string) => Promise<readonly T[]>,
): Promise<T | undefined> {
  const prefix = isIntegerText(id) ? uuidPrefix(Number(id)) : undefined;
  const items = prefix === undefined ? [] : await byPrefix(prefix);
  return items.length === 1 ? items[0] : undefined;
}
