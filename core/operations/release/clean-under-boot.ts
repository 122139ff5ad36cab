import type { Deps } from '#core/deps.ts';
import { type HostRelease, leftAtOf } from '#core/domain/host-work/host-work.ts';
import { newRelease } from '#core/operations/host-work/new-release.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import { contended, untilWritten } from '#core/operations/optimistic-writes.ts';
import { timeNow } from '../time-now.ts';
import { waitingHandles } from './waiting-handles.ts';

/**
 * Asks the host in its present boot for cleaning from before it: a boot erases no disk, and the
 * agent prepares again what it had before. The sweep asks for what is in quarantine, in turn.
 */
export async function cleanUnderBoot(deps: Deps, work: HostRelease): Promise<void> {
  if (work.quarantine !== undefined) {
    await deps.store.releases.postpone(work, timeNow(deps));
    return;
  }
  const { id: _id, kind: _kind, ...plan } = work;
  await untilWritten(
    'quotas',
    async () => {
      const waiting = await waitingHandles(deps, work);
      if (waiting.length === 0) return deps.store.releases.confirm(work, makeChangeNote(deps));
      const handles = waiting.map(({ providerUuid, handleUuid }) => ({ providerUuid, handleUuid }));
      const { release, dueAt } = newRelease(deps, { ...plan, leftAt: leftAtOf(work), handles });
      if (!(await deps.store.releases.replace(work, [release], dueAt))) return contended;
    },
    `Release ${work.id} was not replaced`,
  );
}
