// Units that Placement reserves because nothing is allocated for their holder.

import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import type { AttachHandle } from '#core/domain/device/device.ts';
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
