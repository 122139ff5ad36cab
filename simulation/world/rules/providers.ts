// Providers in Placement, once faults have ended for long enough.

import type { WantedProvider } from '#core/domain/placement/provider-tree.ts';
import { otherStackMark } from '#core/domain/placement/stack-mark.ts';
import { Violation } from '#simulation/violation.ts';
import type { World } from '#simulation/world/world.ts';

/**
 * Placement has each provider as it is wanted, below its parent, and no other of ours; and none
 * was deleted while nova-compute, which reads a tree every five minutes, may have had it.
 */
export function checkProviders(
  { settings, openstack, hosts }: World,
  expected: readonly WantedProvider[],
): void {
  const computeNodes = new Set(hosts.map(({ name }) => name));
  for (const provider of Object.values(openstack.placement.providers)) {
    const isOurs = expected.some(({ uuid }) => uuid === provider.uuid);
    const isForeign = otherStackMark(settings.stage, provider.traits) !== undefined;
    const isNovas = provider.traits.includes('OWNER_NOVA');
    if (!isOurs && !isForeign && !isNovas && !computeNodes.has(provider.name)) {
      throw new Violation('L3', `Placement has an unknown provider ${provider.name}`);
    }
  }
  for (const { uuid, name, inventories, traits, isGone } of expected) {
    const held = openstack.placement.providers[uuid];
    if (isGone) continue;
    if (!held) throw new Violation('L3', `Placement lacks ${name}`);
    if (held.parent === null) throw new Violation('L3', `${name} is in no tree`);
    const differs = Object.entries(inventories).find(
      ([resourceClass, { total, reserved }]) =>
        held.inventories[resourceClass]?.total !== total ||
        held.inventories[resourceClass]?.reserved !== reserved,
    );
    if (differs) throw new Violation('L3', `Placement has another inventory of ${name}`);
    if (traits.some((trait) => !held.traits.includes(trait))) {
      throw new Violation('L3', `Placement lacks traits of ${name}`);
    }
  }
  const [early] = openstack.deletedEarly;
  if (early) throw new Violation('L3', `${early} was deleted while Nova may have had it`);
}
