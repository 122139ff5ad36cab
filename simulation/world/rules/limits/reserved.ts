// Units that Placement reserves because nothing is allocated for their holder, and those that it
// may still allocate.

import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import { reservedHandles } from '#core/domain/arq/region-handles.ts';
import type { AttachHandle } from '#core/domain/device/device.ts';
import { isClaimable } from '#core/domain/device/handle-state.ts';
import { toHandle } from '#core/store/rows/handle-rows.ts';
import { toDeployable } from '#core/store/rows/inventory-rows.ts';
import { Violation } from '#simulation/violation.ts';
import type { World } from '#simulation/world/world.ts';

/** Only units of instances that are known to have no allocation are marked, and none is free. */
export function checkReserved({ database }: World, bindings: readonly InstanceBinding[]): void {
  for (const { sk, is_reserved, instance_uuid } of database.rows('inventory')) {
    const holder = bindings.find(({ instanceUuid }) => instanceUuid === instance_uuid);
    if (is_reserved && !holder?.reservedProviders)
      throw new Violation('I2', `${sk} is reserved, but not for an instance without an allocation`);
  }
}

/** Placement offers no unit of a server that has lost its allocation. */
export function checkHeld({ nova }: World, handles: Iterable<AttachHandle>): void {
  const losers = nova.servers.filter(({ hasLostAllocation }) => hasLostAllocation);
  for (const { uuid, claim } of handles) {
    if (!claim || claim.isReserved) continue;
    if (losers.some((server) => server.uuid === claim.instanceUuid))
      throw new Violation('L3', `Placement offers handle ${uuid}, which a server holds`);
  }
}

/** Placement may allocate as many units of an offered provider as binds can claim. */
export function checkFree({ database, openstack }: World): void {
  const rows = database.rows('inventory');
  for (const row of rows.filter(({ sk }) => sk === 'DEPLOYABLE')) {
    const deployable = toDeployable(row);
    const handles = rows
      .filter(({ pk, sk }) => pk === row.pk && String(sk).startsWith('HANDLE#'))
      .map(toHandle);
    const held = openstack.placement.providers[deployable.providerUuid]?.inventories ?? {};
    const { total = 0, reserved = 0 } = held[deployable.resourceClass ?? ''] ?? {};
    if (total === reserved) continue;
    const kept = new Set(reservedHandles({ deployable, handles }));
    const allocated = handles.filter((each) => each.claim && !kept.has(each)).length;
    const claimable = handles.filter((each) => isClaimable(each) && !kept.has(each)).length;
    if (total - reserved - allocated !== claimable) {
      const counts = `${total} - ${reserved} reserved - ${allocated} allocated`;
      throw new Violation('L3', `${deployable.name} has ${claimable} to claim, not ${counts}`);
    }
  }
}
