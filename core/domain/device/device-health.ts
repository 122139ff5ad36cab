import type { Shaped } from '#core/shapes/derive/case.ts';
import type { describedDevice } from '#core/shapes/device.ts';

/** The driver's judgement. An unhealthy device is reserved in Placement, and not bound. */
export type DeviceHealth = NonNullable<Shaped<typeof describedDevice>['health']>;

export function isUnhealthy({ health }: { readonly health?: DeviceHealth }): boolean {
  return health?.state === 'unhealthy';
}
