// Nova's scheduler and Placement's allocation candidates in one.

import type { Random } from '#simulation/random.ts';
import type { NovaParts, Server } from './nova.ts';
import type { SimulatedOpenStack } from './openstack.ts';

type Group = Readonly<Record<string, string>>;
/** Amounts by provider and resource class. */
type Taken = Record<string, Record<string, number>>;

interface Candidate {
  readonly host: string;
  /** The provider of each group of the profile. */
  readonly providers: readonly string[];
}

/** Picks one of the allocation candidates and claims it at once. */
export function schedule(
  { hosts, openstack, random }: Pick<NovaParts, 'hosts' | 'openstack' | 'random'>,
  { uuid, profile }: Server,
  avoided: readonly string[],
): Candidate | undefined {
  const standing = hosts.filter(({ name, isUp }) => isUp && !avoided.includes(name));
  for (const { name } of shuffled(standing, random)) {
    const providers: string[] = [];
    const taken: Taken = {};
    for (const group of profile.groups) {
      const provider = providerFor(openstack, group, name, taken);
      if (!provider) break;
      providers.push(provider);
    }
    if (providers.length < profile.groups.length) continue;
    openstack.placement.consumers[uuid] = {
      project_id: 'demo',
      user_id: 'demo',
      generation: 1,
      allocations: taken,
    };
    return { host: name, providers };
  }
  return undefined;
}

function providerFor(
  { placement }: SimulatedOpenStack,
  group: Group,
  host: string,
  taken: Taken,
): string | undefined {
  const resources = Object.entries(group).flatMap(([key, value]) =>
    key.startsWith('resources:') ? [[key.slice(10), Number(value)] as const] : [],
  );
  const traits = Object.keys(group).flatMap((key) =>
    key.startsWith('trait:') ? [key.slice(6)] : [],
  );
  const [resourceClass = '', amount = 0] = resources[0] ?? [];
  const provider = Object.values(placement.providers).find((provider) => {
    const inventory = provider.inventories[resourceClass];
    if (!inventory || !provider.name.startsWith(`${host}_`)) return false;
    if (!traits.every((trait) => provider.traits.includes(trait))) return false;
    const used = [...Object.values(placement.consumers).map((each) => each.allocations), taken]
      .map((allocations) => allocations[provider.uuid]?.[resourceClass] ?? 0)
      .reduce((sum, each) => sum + each, 0);
    const { min_unit: least = 1, step_size: step = 1 } = inventory;
    if (amount < least || amount % step > 0) return false;
    return inventory.total - inventory.reserved - used >= amount;
  });
  if (provider) taken[provider.uuid] = { [resourceClass]: amount };
  return provider?.uuid;
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  return items
    .map((item) => ({ item, order: random.next() }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item);
}
