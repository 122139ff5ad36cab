import type { Deps } from '../deps.ts';
import type { HostRelease } from '../domain/arq.ts';
import type { Caller } from '../domain/caller.ts';
import { type AttachHandle, type Device, isWithheld } from '../domain/device.ts';
import type { HandleUuid, ProviderUuid } from '../domain/ids.ts';
import { handOut } from './hand-out.ts';

/**
 * Frees the handles of a device that are in quarantine, or put back from a backup: an operator has seen
 * to it that nothing of their last holder is left on the host, and that nobody has them. Where somebody
 * may have come and gone since the backup, the host cleans up first. Who said so is in the log.
 *
 * @returns the handles that are free by it now, or their holder's
 */
export async function forceRelease(
  deps: Deps,
  caller: Caller,
  device: Device,
  reason: string | undefined,
): Promise<HandleUuid[]> {
  const freed: HandleUuid[] = [];
  for (const provider of device.providers) {
    const withheld = (await handlesOf(deps, provider)).filter(isWithheld);
    for (const { quarantine, release: id } of withheld) {
      const release = quarantine && id && (await deps.store.releases.byId(id));
      if (!release) continue;
      await deps.store.regions.endProgram(release, 'failed', 'It was released by force.');
      await confirmHere(deps, device, release);
    }
    const restored = withheld.filter(({ unknownSince }) => unknownSince !== undefined);
    await handOut(deps, device.hostname, restored);
    const left = new Map((await handlesOf(deps, provider)).map((each) => [each.uuid, each]));
    const isFreed = ({ uuid }: AttachHandle) => {
      const handle = left.get(uuid);
      return handle && !isWithheld(handle) && !handle.release;
    };
    freed.push(...withheld.filter(isFreed).map(({ uuid }) => uuid));
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

async function handlesOf(deps: Deps, provider: ProviderUuid): Promise<readonly AttachHandle[]> {
  return (await deps.store.inventory.provider(provider))?.handles ?? [];
}

/** Of what the same instance had on other devices, nobody has said anything. */
async function confirmHere(deps: Deps, device: Device, release: HostRelease): Promise<void> {
  const here = release.handles.filter(({ providerUuid }) =>
    device.providers.includes(providerUuid),
  );
  for (const { providerUuid, handleUuid } of release.handles) {
    if (device.providers.includes(providerUuid)) continue;
    const handle = (await handlesOf(deps, providerUuid)).find(({ uuid }) => uuid === handleUuid);
    if (handle?.release === release.id) return deps.store.releases.confirm(release, here);
  }
  await deps.store.releases.confirm(release);
}
