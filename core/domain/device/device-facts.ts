// What a host reports of a device beside the accelerators that it offers.

import { type Shaped, toWire } from '#core/shapes/derive/case.ts';
import { present } from '#core/shapes/derive/present.ts';
import { attributeFacts } from '#core/shapes/device.ts';
import type { DiscoveredDevice, Offering } from './device.ts';

/** The facts that operators read as attributes, by key. The identity is not for tenants. */
export function factAttributes(
  device: Pick<DiscoveredDevice, keyof Shaped<typeof attributeFacts> | 'attributes'>,
  offering?: Offering,
): Record<string, string> {
  const facts = Object.entries(toWire(attributeFacts, device)).map(([key, fact]) => [
    key,
    String(typeof fact === 'object' ? fact.state : fact),
  ]);
  const { pool, attributes } = offering ?? {};
  return {
    ...device.attributes,
    ...attributes,
    ...present({ pool }),
    ...Object.fromEntries(facts),
  };
}
