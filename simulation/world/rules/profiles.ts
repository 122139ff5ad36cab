// The rules of a device profile's rows.

import { cleaningGroupKey } from '#core/store/rows/rows.ts';
import type { Item } from '#simulation/database/expressions.ts';
import type { RowChange } from '#simulation/database/memory-database.ts';
import { type Violate, Violation } from '#simulation/violation.ts';
import type { World } from '#simulation/world/world.ts';

/** Each change of a profile, or of the cleanings of a failure domain, follows the one before. */
export function checkRevision({ before, after }: RowChange, violate: Violate): void {
  if (!before || !after) return;
  const isProfile = before.groups && after.groups && before.uuid === after.uuid;
  const isNamed = isProfile && String(after.pk).startsWith('NAME#');
  if (!isNamed && after.pk !== cleaningGroupKey('').pk) return;
  if (revisionOf(after) === revisionOf(before) + 1) return;
  violate('I5', `${after.name ?? after.sk} goes to revision ${after.revision} from another`);
}

function revisionOf({ revision = 1 }: Item): number {
  return Number(revision);
}

/** A uuid leads to a name, and each name of a profile to its uuid. */
export function checkProfiles({ database }: World): void {
  const rows = new Map(database.rows('device-profiles').map((row) => [String(row.pk), row]));
  for (const [key, row] of rows) {
    const [kind, id] = key.split('#');
    if (kind === 'UUID' && rows.get(`NAME#${row.name}`)?.uuid !== id) {
      throw new Violation('I5', `profile ${id} has no row of its name ${row.name}`);
    }
    const uuid = kind === 'NAME' && (row.uuid ?? row.former_name_of);
    const owner = uuid ? rows.get(`UUID#${uuid}`) : undefined;
    if (kind === 'NAME' && (!owner || (row.uuid && owner.name !== id))) {
      throw new Violation('I5', `name ${id} leads to no profile`);
    }
  }
}
