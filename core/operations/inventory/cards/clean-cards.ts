import type { Deps } from '#core/deps.ts';
import type { AttachHandle, Device } from '#core/domain/device/device.ts';
import { isUnheld, longestCleaning } from '#core/domain/device/handle-state.ts';
import { deviceUuid } from '#core/domain/report/device-plan.ts';
import { newRelease } from '#core/operations/host-work/new-release.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import { present } from '#core/shapes/derive/present.ts';
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
  const cleaning = await askToClean(deps, device, handles, true);
  if (cleaning.length < handles.length) return;
  const { hostname: host, address } = device;
  deps.log.info('Card cleaning started before it is offered', {
    host,
    address,
    handles: handles.length,
  });
}

/**
 * Has the host clean attach handles that are held by no ARQ, as after a release.
 *
 * @param isCard the device's row notes when the last of them was asked for
 * @returns those that wait for their host now: fewer where another request has taken one meanwhile
 */
export async function askToClean(
  deps: Deps,
  device: Device,
  handles: readonly AttachHandle[],
  isCard: boolean,
): Promise<readonly AttachHandle[]> {
  for (let from = 0; from < handles.length; from += handlesPerCardCleaningMax) {
    const some = handles.slice(from, from + handlesPerCardCleaningMax);
    const isLast = from + some.length === handles.length;
    const { release, dueAt } = newRelease(deps, {
      hostname: device.hostname,
      ...longestCleaning(some),
      handles: some.map(({ providerUuid, uuid }) => ({ providerUuid, handleUuid: uuid })),
      ...present({ requestId: deps.requestId }),
    });
    const noted = isCard && isLast ? device : undefined;
    const { cleanCard: clean } = deps.store.releases;
    if (!(await clean(release, makeChangeNote(deps), dueAt, noted))) return handles.slice(0, from);
  }
  return handles;
}
