// A card that was moved to another slot of its host, or replaced by another card. What the handles
// at its earlier place have not cleaned is on the card.

import type { Device } from '#core/domain/device/device.ts';
import type { ReportPlan } from './report-plan.ts';

export interface MovedDevice {
  /** Where the report describes it. */
  readonly address: string;
  /**
   * The stored device whose handles count: where the same card was before, or another card at
   * this address.
   */
  readonly from: Device;
}

/** Two cards with one identity differ in their addresses alone, and count as not moved. */
export function movedDevices(
  { put, retire }: Pick<ReportPlan, 'put' | 'retire'>,
  stored: readonly Device[],
): MovedDevice[] {
  const retired = new Set(retire.map(({ uuid }) => uuid));
  const puts = new Map(put.map((device) => [device.address, device]));
  /** Whether the card is no longer at that address: the slot is empty, or has another card. */
  const hasLeft = ({ uuid, address, identity, isGone }: Device) =>
    isGone || retired.has(uuid) || (puts.has(address) && puts.get(address)?.identity !== identity);
  const present = [
    ...put.map(({ identity }) => identity),
    ...stored
      .filter((device) => !hasLeft(device) && !puts.has(device.address))
      .map(({ identity }) => identity),
  ];
  return put.flatMap(({ address, identity }) => {
    if (identity === undefined) return [];
    if (present.filter((each) => each === identity).length > 1) return [];
    const isReplaced = (device: Device) =>
      device.address === address && device.identity !== undefined && device.identity !== identity;
    const isEarlierPlace = (device: Device) =>
      device.address !== address && device.identity === identity && hasLeft(device);
    return stored
      .filter((device) => isReplaced(device) || isEarlierPlace(device))
      .map((from) => ({ address, from }));
  });
}
