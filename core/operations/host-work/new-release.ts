import type { NovaDeps } from '#core/deps.ts';
import { releaseDueAt } from '#core/domain/host-work/deadlines.ts';
import type { HostRelease } from '#core/domain/host-work/host-work.ts';
import type { ReleaseId } from '#core/domain/ids.ts';
import type { Cleaning } from '#core/store/arqs/bindings.ts';

/** A release before it has an id and a time. */
export type ReleasePlan = Omit<HostRelease, 'kind' | 'id' | 'startedAt'>;

/** Gives a planned release its id, its start and its deadline; the caller stores it. */
export function newRelease(deps: NovaDeps, plan: ReleasePlan): Cleaning {
  const now = deps.clock();
  const id = deps.uuid() as ReleaseId;
  const startedAt = new Date(now).toISOString();
  return {
    release: { kind: 'release', id, ...plan, startedAt },
    dueAt: releaseDueAt(plan, deps.settings, now),
  };
}
