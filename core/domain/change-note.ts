// Who changed a row. A stream shows the two images of a row and not the caller, so the writer
// stores the note with the change; history-of-change.ts reads it.

import type { Shaped } from '#core/shapes/derive/case.ts';
import type { changeNote } from '#core/shapes/derive/fields.ts';

export type ChangeNote = Shaped<typeof changeNote>;

/** Who changes what has a deadline. No user of Keystone has this id. */
export const sweeper = 'sweep';

/** The later of two times in ISO 8601. */
export function laterOf(one: string, other: string | undefined): string {
  return other !== undefined && other > one ? other : one;
}
