import * as z from 'zod';
import { present } from '#core/shapes/derive/present.ts';
import { MarkerNotFound } from '#core/store/table/marker-not-found.ts';
import { listAction } from '#functions/operator/list.ts';
import { viewProfile } from './view-profile.ts';

const marker = z.guid().toLowerCase();

export const getProfiles = listAction('profiles', { marker }, async ({ deps, query }) => {
  const { limit, marker } = query;
  if (marker !== undefined && !(await deps.store.profiles.byUuid(marker))) {
    throw new MarkerNotFound(marker);
  }
  const page = { limit, sortKey: 'uuid', sortDir: 'asc', ...present({ marker }) } as const;
  const profiles = await deps.listings.profiles(page);
  const next = profiles.length === limit ? profiles.at(-1)?.uuid : undefined;
  return { rows: profiles.map(viewProfile), next };
});
