// The groups that the map draws hosts in: availability zones or aggregates, as Nova has them.

import type { Aggregate } from '#console/api/answers.ts';

export type Grouping = 'zone' | 'aggregate' | 'none';

export interface HostGroup<Host> {
  /** A map without groups has one without a name. */
  readonly name?: string;
  readonly hosts: readonly (Host & { readonly group?: string })[];
}

/** More have no room for their names; the smaller ones are one group then. */
export const groupsMax = 24;

/** Which groupings differ from a map without one. */
export function groupingsOf(aggregates: readonly Aggregate[]): Grouping[] {
  if (aggregates.length === 0) return ['none'];
  const hasZones = aggregates.some(({ availability_zone: zone }) => zone !== null);
  return [...(hasZones ? (['zone'] as const) : []), 'aggregate', 'none'];
}

/** In the order of their names; hosts that are in none are the last group. */
export function groupHosts<Host extends { readonly hostname: string }>(
  hosts: readonly Host[],
  aggregates: readonly Aggregate[],
  by: Grouping,
): HostGroup<Host>[] {
  if (by === 'none' || hosts.length === 0) return [{ hosts }];
  const names = namesByHost(aggregates, by);
  const nameOf = (hostname: string) => names.get(hostname) ?? names.get(shortName(hostname));
  const byName = Map.groupBy(hosts, ({ hostname }) => nameOf(hostname));
  const named = [...byName].flatMap(([name, members]) =>
    name === undefined ? [] : [{ name, hosts: members.map((host) => ({ ...host, group: name })) }],
  );
  const others = byName.get(undefined) ?? [];
  const rest = others.length > 0 ? [{ name: `in no ${by}`, hosts: others }] : [];
  return [...withoutMany(named), ...rest];
}

/** A host may be in several aggregates, and is drawn once. */
function namesByHost(aggregates: readonly Aggregate[], by: Grouping): Map<string, string> {
  const sets = new Map<string, Set<string>>();
  for (const { name, availability_zone: zone, hosts } of aggregates) {
    const group = by === 'zone' ? zone : name;
    if (group === null) continue;
    for (const host of hosts) {
      // Nova may name the host of a service, and an agent the node by its whole name.
      for (const each of new Set([host, shortName(host)])) {
        sets.set(each, (sets.get(each) ?? new Set()).add(group));
      }
    }
  }
  return new Map([...sets].map(([host, groups]) => [host, [...groups].sort().join(' + ')]));
}

function shortName(hostname: string): string {
  return hostname.split('.', 1)[0] ?? hostname;
}

function withoutMany<Host>(groups: readonly HostGroup<Host>[]): HostGroup<Host>[] {
  const byName = ({ name: one = '' }: HostGroup<Host>, { name: other = '' }: HostGroup<Host>) =>
    one.localeCompare(other);
  if (groups.length <= groupsMax) return [...groups].sort(byName);
  const bySize = [...groups].sort((one, other) => other.hosts.length - one.hosts.length);
  const smaller = bySize.slice(groupsMax - 1);
  return [
    ...bySize.slice(0, groupsMax - 1).sort(byName),
    { name: `${smaller.length} smaller groups`, hosts: smaller.flatMap(({ hosts }) => hosts) },
  ];
}
