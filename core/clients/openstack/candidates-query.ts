// Placement's allocation candidates for the groups of a device profile, as Nova asks for them.

import * as z from 'zod';
import type { Candidates } from '#core/domain/placement/candidates.ts';
import { type Group, groupResources, groupTraits } from '#core/domain/profile/device-profile.ts';

/** Nova's scheduler leaves out hosts that have it. */
const disabledHost = 'COMPUTE_STATUS_DISABLED';

const suffixOf = (index: number) => `_${index}`;

export function candidatesQuery(groups: readonly Group[], limit: number): string {
  const query = new URLSearchParams({ limit: String(limit), root_required: `!${disabledHost}` });
  for (const [index, group] of groups.entries()) {
    const resources = Object.entries(groupResources(group));
    query.set(
      `resources${suffixOf(index)}`,
      resources.map(([name, amount]) => `${name}:${amount}`).join(),
    );
    const traits = [
      ...groupTraits(group, 'required'),
      ...groupTraits(group, 'forbidden').map((trait) => `!${trait}`),
    ];
    if (traits.length > 0) query.set(`required${suffixOf(index)}`, traits.join());
  }
  // Two groups may have the same provider, unless a flavor says otherwise.
  if (groups.length > 1) query.set('group_policy', 'none');
  return query.toString();
}

export const candidatesBody = z.object({
  allocation_requests: z.array(z.object({ mappings: z.record(z.string(), z.array(z.string())) })),
  provider_summaries: z.record(
    z.string(),
    z.object({
      resources: z.record(z.string(), z.object({ capacity: z.number(), used: z.number() })),
      root_provider_uuid: z.string(),
    }),
  ),
});

export function toCandidates(
  { allocation_requests, provider_summaries }: z.infer<typeof candidatesBody>,
  groupCount: number,
): Candidates {
  return {
    choices: allocation_requests.map(({ mappings }) =>
      Array.from({ length: groupCount }, (_, index) => mappings[suffixOf(index)]?.[0] ?? ''),
    ),
    providers: new Map(
      Object.entries(provider_summaries).map(([uuid, { resources, root_provider_uuid }]) => [
        uuid,
        {
          rootUuid: root_provider_uuid,
          free: Object.fromEntries(
            Object.entries(resources).map(([name, { capacity, used }]) => [name, capacity - used]),
          ),
        },
      ]),
    ),
  };
}
