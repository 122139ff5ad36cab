import type { Shaped } from '#core/shapes/derive/case.ts';
import type { describedDevice } from '#core/shapes/device.ts';
import type { ComponentNote, Device } from './device.ts';

/** The driver's judgement. An unhealthy device is reserved in Placement, and not bound. */
export type DeviceHealth = NonNullable<Shaped<typeof describedDevice>['health']>;

export function isUnhealthy({ health }: { readonly health?: DeviceHealth }): boolean {
  return health?.state === 'unhealthy';
}

/**
 * The failed program of a device that is gone from its host, until an operator has set the status
 * of the device: one that is taken out for good needs no attention.
 */
export function programOfLost({
  isGone,
  programs = [],
  statusChange,
}: Device): ComponentNote | undefined {
  if (!isGone) return undefined;
  return programs.find(({ id, state }) => state === 'failed' && statusChange?.program === id);
}

/**
 * Whether a component is being programmed, or awaits the power cycle that ends its program. Its
 * device is reserved in Placement and not bound, also where an operator has enabled it meanwhile.
 */
export function isBeingProgrammed({
  programs = [],
}: {
  readonly programs?: readonly Pick<ComponentNote, 'state'>[];
}): boolean {
  return programs.some(({ state }) => state === 'started' || state === 'awaiting-power-cycle');
}
