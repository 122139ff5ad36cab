import type { Deps } from '../deps.ts';
import type { ChangeNote } from '../domain/change-note.ts';

/** The note of a change that is made now. */
export function changeNoteOf({ clock, actor, requestId }: Deps): ChangeNote {
  return {
    at: new Date(clock()).toISOString(),
    by: actor ?? 'service',
    ...(requestId && { requestId }),
  };
}
