// Checks that Glance has what regions are to hold: a profile without its image fails each build,
// and a server without it does not get its region back after a boot of its host.

import { ImageUnusable } from '#core/clients/openstack/glance.ts';
import { CheckFailed } from '#core/command-line/checks.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { groupLists } from '#core/domain/profile/alternatives.ts';
import { type Group, type ImageQuery, wantedImage } from '#core/domain/profile/device-profile.ts';
import { forEachAtOnce } from '#core/operations/for-each-at-once.ts';
import { allProfiles } from '#core/operations/profiles/rename-in-profiles.ts';
import { present } from '#core/shapes/derive/present.ts';

import type { Check } from './check.ts';
import { namesOf } from './kept.ts';

const pageSize = 1000;
const asksAtOnce = 10;

interface Named {
  readonly query: ImageQuery;
  readonly by: Set<string>;
}

export const imageChecks: readonly Check[] = [
  {
    name: 'the images of profiles and servers',
    remedy: 'Check Glance.',
    look: async ({ deps }) => {
      const named = await imagesNamed(deps);
      const missing: string[] = [];
      await forEachAtOnce(named, asksAtOnce, async ({ query, by }) => {
        const reason = await reasonAgainst(deps, query);
        if (reason) missing.push(`${reason.replace(/\.$/, '')} (${namesOf([...by].sort())})`);
      });
      if (missing.length === 0) return `Glance has all ${named.length}`;
      throw new CheckFailed(
        `${missing.sort().join('; ')}.`,
        'Change the profile. A server keeps its image until its host boots: shelve and unshelve it, so that it gets what its profile has now.',
      );
    },
  },
];

/** Why Glance has no such image; undefined if it has one. */
async function reasonAgainst(
  { clients }: ConsumerDeps,
  query: ImageQuery,
): Promise<string | undefined> {
  try {
    await clients.glance.findImage(query);
    return undefined;
  } catch (error) {
    if (error instanceof ImageUnusable) return error.message;
    throw error;
  }
}

/** Each image or function that a profile or a server names. */
async function imagesNamed({ listings, store }: ConsumerDeps): Promise<readonly Named[]> {
  const named = new Map<string, Named>();
  const add = (group: Group, by: string) => {
    const query = wantedImage(group);
    if (query === undefined) return;
    const key = `${query.by} ${query.value}`;
    const entry = named.get(key) ?? { query, by: new Set() };
    named.set(key, entry);
    entry.by.add(by);
  };
  for (const profile of await allProfiles({ listings, store })) {
    for (const group of groupLists(profile).flat()) add(group, `profile ${profile.name}`);
  }
  let marker: string | undefined;
  do {
    const page = {
      limit: pageSize,
      sortKey: 'uuid',
      sortDir: 'asc',
      ...present({ marker }),
    } as const;
    const arqs = await listings.arqs(page, {});
    for (const { group, binding } of arqs) {
      if (binding) add(group, `server ${binding.instanceUuid}`);
    }
    marker = arqs.length === pageSize ? arqs.at(-1)?.uuid : undefined;
  } while (marker !== undefined);
  return [...named.values()];
}
