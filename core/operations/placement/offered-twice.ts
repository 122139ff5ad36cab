// Devices that another service offers, too: Nova could give one to a server, and we to another.

import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import type { Device } from '#core/domain/device/device.ts';
import type { WantedProvider } from '#core/domain/placement/provider-tree.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { timeNow } from '../time-now.ts';
import { otherStackAt, putInventories } from './put-provider.ts';

/**
 * Marks the device and its providers as offered by another service, too, or no longer so. From
 * then on no bind takes it, whatever Placement holds.
 *
 * @param owner undefined where no other service offers it
 * @returns whether the rows have changed
 * @throws RetryLater if one of the rows has been deleted meanwhile
 */
export async function markOtherOwner(
  deps: ConsumerDeps,
  device: Device,
  providers: readonly StoredProvider[],
  owner: Device['otherOwner'],
): Promise<boolean> {
  const { offeredTwice: before, hostname, address } = device;
  const isMarked = before?.name === owner?.name && before?.by === owner?.by;
  // A region that has been added since has no copy of the mark.
  const isCopied = providers.every(({ deployable }) => deployable.offeredTwice === owner?.name);
  if (isMarked && isCopied) return false;
  const mark = owner && { ...owner, since: before?.since ?? timeNow(deps) };
  const uuids = providers.map(({ deployable }) => deployable.providerUuid);
  if (!(await deps.store.inventory.markOfferedTwice(device, uuids, mark))) {
    throw new RetryLater(`The device at ${address} of ${hostname} is changing.`, 1);
  }
  if (!owner) deps.log.info('Device offered by this service alone', { host: hostname, address });
  return true;
}

/**
 * Reserves what Placement has of a device that is marked. Creates nothing there. The next
 * comparison looks again.
 */
export async function withhold(
  deps: ConsumerDeps,
  device: Device,
  planned: readonly WantedProvider[],
  { name, by }: NonNullable<Device['otherOwner']>,
): Promise<void> {
  for (const provider of planned) {
    const isThere = await deps.clients.placement.getProvider(provider.uuid);
    const isOurs = isThere && !(await otherStackAt(deps, provider.uuid));
    if (isOurs) await putInventories(deps, provider);
  }
  const message = `Device offered by ${name}, too: take it out of its settings, or out of the agent's`;
  sayOfferedTwice(deps, device, message, { owner: name, by });
}

export function sayOfferedTwice(
  deps: ConsumerDeps,
  { hostname: host, address }: Device,
  message: string,
  about: Readonly<Record<string, string>>,
): void {
  deps.metrics.put([{ name: 'DevicesOfferedTwice', value: 1 }]);
  deps.log.error(message, { host, address, ...about });
}
