import * as z from 'zod';
import { findMatching } from '#core/operations/devices/hold-devices.ts';
import { listAction } from '#functions/operator/list.ts';
import { viewHold } from './view-hold.ts';

const marker = z.guid().toLowerCase();

export const getHolds = listAction('holds', { marker }, async ({ deps, query }) => {
  const { limit, marker = '' } = query;
  const { holds } = await deps.store.holds.holds();
  const left = holds
    .filter(({ id }) => id > marker)
    .sort((one, other) => (one.id < other.id ? -1 : 1));
  const page = left.slice(0, limit);
  const matching = await findMatching(deps, page);
  return {
    rows: page.map((hold) => viewHold(hold, matching?.get(hold.id))),
    next: left.length > limit ? page.at(-1)?.id : undefined,
  };
});
