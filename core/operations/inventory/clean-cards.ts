import type { Deps } from '#core/deps.ts';
import type { AttachHandle, Device } from '#core/domain/device/device.ts';
import { isUnheld, longestCleaning } from '#core/domain/device/handle-state.ts';
import { deviceUuid } from '#core/domain/report/device-plan.ts';
import { newRelease } from '#core/operations/host-work/new-release.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import { handlesPerCardCleaningMax } from '#core/store/arqs/releases.ts';

/**
 * Has the host clean all attach handles of cards that are not offered because something may be
 * left on them. The next report offers those that are clean. Runs under the lease of the host's
 * reports; repeatable: a handle that waits for a release keeps it.
 */
export async function cleanCards(
  deps: Deps,
  hostname: string,
  addresses: readonly string[],
): Promise<void> {
  if (addresses.length === 0) return;
  const uuids = new Set<string>(addresses.map((address) => deviceUuid(hostname, address)));
  const { devices } = await deps.store.inventory.host(hostname);
  for (const device of devices.filter(({ uuid }) => uuids.has(uuid))) await cleanCard(deps, device);
}

async function cleanCard(deps: Deps, device: Device): Promise<void> {
  const providers = await deps.store.inventory.providers(device.providers);
  const handles = providers
    .flatMap((provider) => provider.handles)
    .filter((handle) => isUnheld(handle) && !handle.isGone && !handle.restoredAt);
  if (handles.length === 0) return;
  for (let from = 0; from < handles.length; from += handlesPerCardCleaningMax) {
    const some = handles.slice(from, from + handlesPerCardCleaningMax);
    const isLast = from + some.length === handles.length;
    if (!(await askToClean(deps, device, some, isLast))) return;
  }
  const { hostname: host, address } = device;
  deps.log.info('Card cleaning started before it is offered', {
    host,
    address,
    handles: handles.length,
  });
}

function askToClean(
  deps: Deps,
  device: Device,
  handles: readonly AttachHandle[],
  isLast: boolean,
): Promise<boolean> {
  const { release, dueAt } = newRelease(deps, {
    hostname: device.hostname,
    ...longestCleaning(handles),
    handles: handles.map(({ providerUuid, uuid }) => ({ providerUuid, handleUuid: uuid })),
  });
  const last = isLast ? device : undefined;
  return deps.store.releases.cleanCard(release, makeChangeNote(deps), dueAt, last);
}
