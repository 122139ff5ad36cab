// Marks of devices that another service offers, too.

import type { Device } from '#core/domain/device/device.ts';
import { toDeployable } from '#core/store/rows/inventory-rows.ts';
import type { Item } from '#simulation/database/expressions.ts';
import { Violation } from '#simulation/violation.ts';
import type { World } from '#simulation/world/world.ts';

/** The devices that Nova tracks in Placement are marked, no others are, and deployables follow. */
export function checkOfferedTwice(
  { openstack }: World,
  rows: readonly Item[],
  devices: readonly Device[],
): void {
  const novas = Object.values(openstack.placement.providers).filter(({ traits }) =>
    traits.includes('OWNER_NOVA'),
  );
  const deployables = rows.filter(({ sk }) => sk === 'DEPLOYABLE').map(toDeployable);
  for (const { uuid, hostname, address, isGone, offeredTwice } of devices) {
    const isNovas = novas.some(({ name }) => name === `${hostname}_${address.toUpperCase()}`);
    if ((isNovas && !isGone) !== (offeredTwice !== undefined)) {
      throw new Violation('L3', `device ${uuid} is ${offeredTwice ? '' : 'not '}marked as Nova's`);
    }
    const own = deployables.filter(({ deviceUuid }) => deviceUuid === uuid);
    if (own.some((each) => each.offeredTwice !== offeredTwice?.name)) {
      throw new Violation('L3', `a deployable of device ${uuid} does not follow its mark`);
    }
  }
}
