// How many servers Placement's allocation candidates have room for. Pure.

import { type Supply, serversThatFit } from '#core/domain/capacity/packing.ts';
import { type Group, groupResources, sameLevelOf } from '#core/domain/profile/device-profile.ts';

/** What Placement offers for the groups of a server, cut at a number of candidates. */
export interface Candidates {
  /** The provider of each group of each candidate, by the group's index. */
  readonly choices: readonly (readonly string[])[];
  readonly providers: ReadonlyMap<string, CandidateProvider>;
}

export interface CandidateProvider {
  /** The compute node that it is below. */
  readonly rootUuid: string;
  /** Free units by resource class. */
  readonly free: Readonly<Record<string, number>>;
}

/** Never too many: what is beyond the candidates that were asked for is not counted. */
export function countServers(groups: readonly Group[], { choices, providers }: Candidates): number {
  const demands = groups.map((group) => {
    const [[resourceClass, size] = ['', 1]] = Object.entries(groupResources(group));
    return { resourceClass, size };
  });
  const supplies = new Map<string, Supply & { readonly rootUuid: string; most: number[] }>();
  for (const choice of choices) {
    for (const [index, uuid] of choice.entries()) {
      const provider = providers.get(uuid);
      const demand = demands[index];
      const group = groups[index];
      if (!provider || !demand || !group) continue;
      const supply = supplies.get(uuid) ?? {
        rootUuid: provider.rootUuid,
        free: provider.free[demand.resourceClass] ?? 0,
        most: demands.map(() => 0),
      };
      // What a pool has together for one more server is unknown until this one has its units.
      supply.most[index] = sameLevelOf(group) ? 1 : Number.POSITIVE_INFINITY;
      supplies.set(uuid, supply);
    }
  }
  const byHost = Map.groupBy(supplies.values(), ({ rootUuid }) => rootUuid);
  return [...byHost.values()].reduce((sum, host) => sum + serversThatFit(demands, host), 0);
}
