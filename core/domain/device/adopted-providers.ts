// Providers that another service made for a device, and that an import took over with their uuids
// and allocations. The device keeps them; what its host offers is divided among them. Pure.

import { pciFunction } from '#core/shapes/attach-handle.ts';
import type { Shaped } from '#core/shapes/derive/case.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { adoptedProvider } from '#core/shapes/device.ts';
import type { AttachHandle, DiscoveredDevice, Offering } from './device.ts';

export type AdoptedProvider = Shaped<typeof adoptedProvider>;

/** The provider that takes the place of the device's own. */
export function findWhole(
  adopted: readonly AdoptedProvider[] | undefined,
): AdoptedProvider | undefined {
  return adopted?.find(({ address }) => address === undefined);
}

interface DividedOffering {
  /** What is left for the device's own provider. */
  readonly rest?: Offering;
  /** Adopted providers whose function the host offers. */
  readonly parts: readonly { readonly provider: AdoptedProvider; readonly offering: Offering }[];
}

/** Gives each adopted provider the handle of its function. */
export function divideOffering(
  offering: Offering | undefined,
  adopted: readonly AdoptedProvider[] | undefined,
): DividedOffering {
  const perFunction = (adopted ?? []).filter(({ address }) => address !== undefined);
  if (!offering || perFunction.length === 0) return { ...present({ rest: offering }), parts: [] };
  const byFunction = Map.groupBy(offering.attachHandles, (handle) => pciFunction(handle));
  const parts = perFunction.flatMap((provider) => {
    const attachHandles = byFunction.get(provider.address) ?? [];
    const numAccelerators = attachHandles.length;
    return numAccelerators > 0
      ? [{ provider, offering: { ...offering, attachHandles, numAccelerators } }]
      : [];
  });
  const taken = new Set(parts.flatMap((part) => part.offering.attachHandles));
  const attachHandles = offering.attachHandles.filter((handle) => !taken.has(handle));
  const numAccelerators = Math.max(0, offering.numAccelerators - taken.size);
  return { rest: { ...offering, attachHandles, numAccelerators }, parts };
}

/**
 * The device as unhealthy, if handles are in use that its host reports no longer, or otherwise: as
 * another provider's, or in other parts. What a server holds could be given to a second one then.
 *
 * @param held handles of the device with a claim or a release
 * @param isReported whether the host reports the handle at its provider
 * @param was the health that is stored
 */
export function withholdUnlike(
  discovered: DiscoveredDevice,
  held: readonly AttachHandle[],
  isReported: (handle: AttachHandle) => boolean,
  { now, was }: { readonly now: string; readonly was: DiscoveredDevice['health'] },
): DiscoveredDevice {
  const unlike = held.filter((handle) => !isReported(handle));
  if (unlike.length === 0) return discovered;
  const reason = `is offered otherwise than before its import, and ${unlike.length} attach handles from then are in use`;
  const since = was?.reason === reason ? was.since : now;
  // Without a digest the agent is asked to describe the device again, after each heartbeat.
  return { ...discovered, health: { state: 'unhealthy', reason, since }, digest: '' };
}
