import type { Deps } from '../../deps.ts';
import { needsCleaning } from '../../domain/bind-plan.ts';
import type { AttachHandle } from '../../domain/device.ts';
import { handlesPerReleaseMax } from '../../store/releases.ts';
import { newRelease } from '../release/new-release.ts';

/**
 * Returns handles restored from a backup to the pool, when no other instance can hold them. The
 * host first removes the mdevs that it may have made for instances since the backup.
 */
export async function returnToPool(
  deps: Deps,
  hostname: string,
  restored: readonly AttachHandle[],
): Promise<void> {
  for (const handle of restored.filter((each) => !isDirty(deps, each))) {
    await deps.store.releases.reinstate(handle);
  }
  const dirty = restored.filter((each) => isDirty(deps, each));
  await cleanUp(deps, hostname, dirty);
}

/** Whether the host has to clean up the handle before it may be claimed. */
export function isDirty(deps: Deps, handle: AttachHandle): boolean {
  return handle.claim === undefined && needsCleaning(handle, deps.settings.mdevOwner);
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
      handles: some.map(({ providerUuid, uuid }) => ({ providerUuid, handleUuid: uuid })),
    });
    await deps.store.releases.reinstateWhenClean(release, dueAt);
  }
}
