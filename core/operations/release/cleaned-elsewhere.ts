import type { Deps } from '../../deps.ts';
import { cardOf } from '../../domain/card-cleaning.ts';
import type { Device } from '../../domain/device.ts';
import { type AwaitedWork, leftAtOf } from '../../domain/host-work.ts';

/**
 * Whether nothing is left for the host to clean: it says that it no longer has the card, and the
 * host that has it now has cleaned it since. Neither host's word is enough: a host speaks for its
 * own devices only.
 */
export async function isCleanedElsewhere(deps: Deps, work: AwaitedWork): Promise<boolean> {
  const providers = work.handles.map(({ providerUuid }) => providerUuid);
  const places = await deps.store.inventory.placesOf(providers);
  const devices = new Map([...places.values()].map(({ device }) => [device.uuid, device]));
  for (const device of devices.values()) {
    if (!device.isGone || !(await isCleanedSince(deps, device, leftAtOf(work)))) return false;
  }
  return devices.size > 0;
}

async function isCleanedSince(deps: Deps, device: Device, at: string): Promise<boolean> {
  const card = cardOf(device);
  if (card === undefined) return false;
  const found = await deps.listings.devicesOfCard(card);
  return found.some(
    ({ uuid, isGone, cardCleaning }) =>
      uuid !== device.uuid && !isGone && (cardCleaning?.cleanedAt ?? '') > at,
  );
}
