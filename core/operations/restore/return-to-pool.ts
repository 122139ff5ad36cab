import type { Deps } from '../../deps.ts';
import { needsCleaning } from '../../domain/bind-plan.ts';
import type { AttachHandle } from '../../domain/device.ts';
import type { ReleaseId } from '../../domain/ids.ts';
import { handlesPerReleaseMax } from '../../store/releases.ts';
import { releaseDeadlineSeconds } from '../release/cleaning.ts';

/**
 * Hands out again what was put back from a backup, and is not known to be anybody else's any more. What may
 * have been made on the host for somebody in between is removed first.
 */
export async function returnToPool(
  deps: Deps,
  hostname: string,
  restored: readonly AttachHandle[],
): Promise<void> {
  for (const handle of restored.filter((each) => !isDirty(deps, each))) {
    await deps.store.releases.trust(handle);
  }
  const dirty = restored.filter((each) => isDirty(deps, each));
  await cleanUp(deps, hostname, dirty);
}

/** Whether its host has to clean it up before it is anybody's. */
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
    await deps.store.releases.reinstateWhenClean(
      {
        id: deps.uuid() as ReleaseId,
        hostname,
        handles: some.map(({ providerUuid, uuid }) => ({ providerUuid, handleUuid: uuid })),
        startedAt: new Date(deps.clock()).toISOString(),
      },
      new Date(deps.clock() + releaseDeadlineSeconds * 1000).toISOString(),
    );
  }
}
