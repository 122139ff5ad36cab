// The rules of profiles with alternatives.

import { deployableKey } from '#core/store/rows/rows.ts';
import type { Item } from '#simulation/database/expressions.ts';
import type { MemoryDatabase, RowChange } from '#simulation/database/memory-database.ts';
import type { Violate } from '#simulation/violation.ts';

/** How long a count is believed, and how long the function that believes it may run. */
const believedMs = 40_000;

/** A promise is given only within the room that Placement had lately. */
export function checkPromise({ before = {}, after }: RowChange, nowMs: number, violate: Violate) {
  if (!after || !String(after.pk).startsWith('PROMISES#')) return;
  for (const [name, given] of Object.entries(after)) {
    if (!name.startsWith('given_') || Number(given) <= Number(before[name] ?? 0)) continue;
    const room = after[name.replace('given', 'room')];
    const isWithin = Number(given) <= Number(room);
    const isLate = nowMs - Number(after.counted_at) > believedMs;
    if (!isWithin || isLate) violate('I11', `${after.pk}: ${name} is ${given}, of ${room}`);
  }
  for (const [name, closed] of Object.entries(after)) {
    if (!name.startsWith('closed_') || Number(closed) <= Number(before[name] ?? 0)) continue;
    const most = Number(after[name.replace('closed', 'given')] ?? 0);
    if (Number(closed) > most) violate('I11', `${after.pk}: ${name} is ${closed}, of ${most}`);
  }
}

/** A bound ARQ has the group of the alternative whose device it holds. */
export function checkAlternative(after: Item, database: MemoryDatabase, violate: Violate): void {
  if (!after.alternatives || !after.handle_uuid) return;
  const { pk } = deployableKey(String(after.provider_uuid) as never);
  const row = database.rows('inventory').find((each) => each.pk === pk && each.sk === 'DEPLOYABLE');
  const { resource_class } = (row?.deployable ?? {}) as { readonly resource_class?: string };
  if (!resource_class || String(after.group).includes(`resources:${resource_class}"`)) return;
  violate('I11', `ARQ ${after.uuid} holds ${resource_class}, and has the group ${after.group}`);
}
