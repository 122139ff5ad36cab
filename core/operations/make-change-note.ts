import type { Deps } from '#core/deps.ts';
import type { ChangeNote } from '#core/domain/change-note.ts';
import { present } from '#core/shapes/derive/present.ts';

/** The note of a change that is made now. */
export function makeChangeNote({ clock, actor, requestId }: Deps): ChangeNote {
  return {
    at: new Date(clock()).toISOString(),
    by: actor ?? 'service',
    ...present({ requestId }),
  };
}
