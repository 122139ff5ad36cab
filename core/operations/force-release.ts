import type { Deps } from '../deps.ts';
import type { Caller } from '../domain/caller.ts';
import type { Device } from '../domain/device.ts';
import type { HandleUuid } from '../domain/ids.ts';

/**
 * Frees the handles of a device that are in quarantine, or put back from a backup: an operator has seen
 * to it that nothing of their last holder is left on the host, and that nobody has them. Who said so is
 * in the log.
 *
 * @returns the handles that are free now
 */
export async function forceRelease(
  deps: Deps,
  caller: Caller,
  device: Device,
  reason: string | undefined,
): Promise<HandleUuid[]> {
  const freed: HandleUuid[] = [];
  for (const uuid of device.providers) {
    const provider = await deps.store.inventory.provider(uuid);
    for (const handle of provider?.handles ?? []) {
      if (handle.unknownSince === undefined) continue;
      if (await deps.store.releases.trust(handle)) freed.push(handle.uuid);
    }
    const quarantined = provider?.handles.filter((handle) => handle.quarantine !== undefined) ?? [];
    for (const { uuid: handle, release: id } of quarantined) {
      const release = id && (await deps.store.releases.byId(id));
      if (!release) continue;
      await deps.store.regions.endProgram(release, 'failed', 'It was released by force.');
      await deps.store.releases.confirm(release);
      if (!freed.includes(handle)) freed.push(handle);
    }
  }
  deps.log.warn('Handles were released by force.', {
    device: device.uuid,
    host: device.hostname,
    handles: freed,
    user: caller.userId,
    reason,
  });
  return freed;
}
