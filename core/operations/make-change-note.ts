import type { NovaDeps } from '#core/deps.ts';
import type { ChangeNote } from '#core/domain/change-note.ts';
import { present } from '#core/shapes/derive/present.ts';
import { timeNow } from './time-now.ts';

/** The note of a change that is made now. */
export function makeChangeNote(deps: NovaDeps): ChangeNote {
  const { actor, requestId } = deps;
  return {
    at: timeNow(deps),
    by: actor ?? 'service',
    ...present({ requestId }),
  };
}
