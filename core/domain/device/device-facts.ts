// What a host reports of a device beside the accelerators that it offers.

import { type Shaped, toWire } from '#core/shapes/derive/case.ts';
import { present } from '#core/shapes/derive/present.ts';
import { attributeFacts } from '#core/shapes/device.ts';
import type { DiscoveredDevice } from './device.ts';

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
