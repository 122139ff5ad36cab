import type { Deps } from '#core/deps.ts';
import type { AttachHandle } from '#core/domain/device/device.ts';
import { isUncleanImport, longestCleaning } from '#core/domain/device/handle-state.ts';
import { newRelease } from '#core/operations/host-work/new-release.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import { handlesPerReleaseMax } from '#core/store/arqs/releases.ts';

/**
 * Returns handles restored from a backup or imported to the pool, when no other instance can hold
 * them. The host first cleans those that instances may have had. What was imported as not clean,
 * and its host does not clean, stays withheld until an operator states that it is clean.
 */
export async function returnToPool(
  deps: Deps,
  hostname: string,
  restored: readonly AttachHandle[],
): Promise<void> {
  for (const handle of restored.filter((each) => !isDirty(each) && !isUncleanImport(each))) {
    await deps.store.releases.reinstate(handle, makeChangeNote(deps));
  }
  const dirty = restored.filter(isDirty);
  await cleanUp(deps, hostname, dirty);
}

/** Whether the host has to clean up the handle before it may be claimed. */
export function isDirty({ claim, cleanSeconds }: AttachHandle): boolean {
  return claim === undefined && cleanSeconds !== undefined;
}

async function cleanUp(
  deps: Deps,
  hostname: string,
  handles: readonly AttachHandle[],
): Promise<void> {
  for (let from = 0; from < handles.length; from += handlesPerReleaseMax) {
    const some = handles.slice(from, from + handlesPerReleaseMax);
    const { release, dueAt } = newRelease(deps, {
      hostname,
      ...longestCleaning(some),
      handles: some.map(({ providerUuid, uuid }) => ({ providerUuid, handleUuid: uuid })),
    });
    await deps.store.releases.reinstateWhenClean(release, makeChangeNote(deps), dueAt);
  }
}
