import type { Deps } from '../deps.ts';
import type { HostRelease } from '../domain/arq.ts';
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
      await confirmHere(deps, device, release);
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

/** Of what the same instance had on other devices, nobody has said anything. */
async function confirmHere(deps: Deps, device: Device, release: HostRelease): Promise<void> {
  const here = release.handles.filter(({ providerUuid }) =>
    device.providers.includes(providerUuid),
  );
  for (const { providerUuid, handleUuid } of release.handles) {
    if (device.providers.includes(providerUuid)) continue;
    const provider = await deps.store.inventory.provider(providerUuid);
    const handle = provider?.handles.find(({ uuid }) => uuid === handleUuid);
    if (handle?.release === release.id) return deps.store.releases.confirm(release, here);
  }
  await deps.store.releases.confirm(release);
}
