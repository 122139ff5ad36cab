import type { Deps } from '#core/deps.ts';
import type { AttachHandle, Device } from '#core/domain/device/device.ts';
import { isBeingProgrammed } from '#core/domain/device/device-health.ts';
import { isUnheld, isWithheld } from '#core/domain/device/handle-state.ts';
import type { HandleUuid } from '#core/domain/ids.ts';
import { ResetRefused } from '#core/domain/operator-errors.ts';
import { reasonNotAsked } from '#core/operations/release/force-release.ts';
import { askToClean } from './cards/clean-cards.ts';

/**
 * Has the host reset a device that no server has, in the way in which it cleans each attach handle
 * after a holder. Binds that come meanwhile wait for the host, and a reset that fails leaves the
 * handles in quarantine.
 *
 * @returns the handles that are free once their host has cleaned up
 * @throws ResetRefused with what stands against it; then nothing has changed
 */
export async function resetDevice(deps: Deps, device: Device): Promise<readonly HandleUuid[]> {
  const providers = await deps.store.inventory.providers(device.providers);
  const handles = providers.flatMap((each) => each.handles).filter(({ isGone }) => !isGone);
  const reason = reasonAgainst(device, handles) ?? (await reasonNotAsked(deps, device.hostname));
  if (reason) throw new ResetRefused(device.uuid, reason);
  const cleaning = await askToClean(deps, device, handles, false);
  if (cleaning.length === 0)
    throw new ResetRefused(device.uuid, 'another request has just taken it');
  const { hostname: host, address } = device;
  deps.log.info('Device reset started', { host, address, handles: cleaning.length });
  return cleaning.map(({ uuid }) => uuid);
}

function reasonAgainst(device: Device, handles: readonly AttachHandle[]): string | undefined {
  const count = (is: (handle: AttachHandle) => boolean) => handles.filter(is).length;
  if (device.isGone || handles.length === 0) return 'its host does not report it';
  if (isBeingProgrammed(device)) return 'a component of it is being programmed';
  const claimed = count(({ claim }) => claim !== undefined);
  if (claimed > 0) return `${claimed} of its attach handles belong to servers`;
  const withheld = count(isWithheld);
  if (withheld > 0) {
    return `${withheld} of its attach handles are in quarantine or restored; force_release has them cleaned`;
  }
  if (!handles.every(isUnheld)) return 'its host is cleaning or programming it';
  if (!handles.every(({ cleanSeconds }) => cleanSeconds !== undefined))
    return 'its driver does not clean it after a server';
  return undefined;
}
