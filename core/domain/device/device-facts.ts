// What a host tells of a device beyond what is sold of it.

import { type Shaped, toWire } from '#core/shapes/derive/case.ts';
import { present } from '#core/shapes/derive/present.ts';
import { attributeFacts, type describedDevice } from '#core/shapes/device.ts';
import type { DiscoveredDevice } from './device.ts';

/** As the host's driver sees it. An unhealthy device is reserved in Placement, and not bound. */
export type DeviceHealth = NonNullable<Shaped<typeof describedDevice>['health']>;

/** The facts that operators read as attributes, by key. The identity is not for tenants. */
export function factAttributes(
  device: Pick<DiscoveredDevice, keyof Shaped<typeof attributeFacts> | 'attributes'>,
  pool: string | undefined,
): Record<string, string> {
  const facts = Object.entries(toWire(attributeFacts, device)).map(([key, fact]) => [
    key,
    String(typeof fact === 'object' ? fact.state : fact),
  ]);
  return { ...device.attributes, ...present({ pool }), ...Object.fromEntries(facts) };
}

export function isUnhealthy({ health }: { readonly health?: DeviceHealth }): boolean {
  return health?.state === 'unhealthy';
}
