// A function that its host offers as part of another device than before: the pool that it has
// joined or left. Until its handle there has neither a holder nor a release, and can be claimed no
// more, the other device must not give it away. Pure.

import type { AttachHandle, Device, DiscoveredDevice } from '#core/domain/device/device.ts';
import { mustStay } from '#core/domain/device/handle-state.ts';
import { pciFunction } from '#core/shapes/attach-handle.ts';

export interface StoredHandles {
  readonly device: Device;
  readonly handles: readonly AttachHandle[];
}

/** Whether one of the devices has a name in place of a PCI address, as pools have. */
export function mayBePool(devices: readonly { readonly address: string }[]): boolean {
  return devices.some(({ address }) => !address.includes(':'));
}

/**
 * Devices as unhealthy of which another one has a function.
 *
 * Without a digest the agent is asked to describe them again, after each heartbeat.
 */
export function withholdHeldElsewhere(
  put: readonly DiscoveredDevice[],
  stored: readonly StoredHandles[],
  now: string,
): DiscoveredDevice[] {
  return put.map((discovered) => {
    const held = findElsewhere(discovered, stored);
    if (!held) return discovered;
    const reason = `has ${held.fn}, which is still to be released as part of the device at ${held.at}`;
    const was = stored.find(({ device }) => device.address === discovered.address)?.device.health;
    const since = was?.reason === reason ? was.since : now;
    return { ...discovered, health: { state: 'unhealthy', reason, since }, digest: '' };
  });
}

function findElsewhere(
  { address, offers, regions }: DiscoveredDevice,
  stored: readonly StoredHandles[],
): { readonly fn: string; readonly at: string } | undefined {
  const offered = [...(offers ? [offers] : []), ...regions].flatMap((each) => each.attachHandles);
  const functions = new Set(offered.flatMap((handle) => pciFunction(handle) ?? []));
  for (const { device, handles } of stored) {
    if (device.address === address) continue;
    for (const handle of handles) {
      const fn = pciFunction(handle);
      const isLeft = !handle.isGone || mustStay(handle);
      if (fn !== undefined && isLeft && functions.has(fn)) return { fn, at: device.address };
    }
  }
  return undefined;
}
