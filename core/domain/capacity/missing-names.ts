// What a profile names and no device of the cloud has: such a profile fits nowhere. Pure.

import { type Group, groupResources, groupTraits } from '#core/domain/profile/device-profile.ts';
import type { CapacityHost } from './capacity.ts';

/**
 * Keys of the groups, such as `resources:PGPU` and `trait:CUSTOM_GPU`. Traits are looked for on
 * the providers of the group's class alone.
 *
 * @param hosts all hosts of the cloud
 */
export function missingNames(
  groups: readonly Group[],
  hosts: readonly CapacityHost[],
): readonly string[] {
  const traitsByClass = new Map<string, Set<string>>();
  for (const { deployable } of hosts.flatMap(({ providers }) => providers)) {
    const { resourceClass, traits, isGone } = deployable;
    if (isGone || resourceClass === undefined) continue;
    const existing = traitsByClass.get(resourceClass) ?? new Set();
    for (const trait of traits) existing.add(trait);
    traitsByClass.set(resourceClass, existing);
  }
  const missing = groups.flatMap((group) => {
    const [resourceClass = ''] = Object.keys(groupResources(group));
    const traits = traitsByClass.get(resourceClass);
    if (!traits) return [`resources:${resourceClass}`];
    const lacking = groupTraits(group, 'required').filter((trait) => !traits.has(trait));
    return lacking.map((trait) => `trait:${trait}`);
  });
  return [...new Set(missing)];
}
