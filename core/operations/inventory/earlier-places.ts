import type { Deps } from '../../deps.ts';
import { cardOf, type EarlierPlace } from '../../domain/card-cleaning.ts';
import type { AttachHandle, Device } from '../../domain/device.ts';
import { isUnheld, isWithheld } from '../../domain/handle-state.ts';
import { type AwaitedWork, leftAtOf } from '../../domain/host-work.ts';
import type { StoredHost } from '../../domain/report-plan.ts';

/** One serial number on more hosts names no card: some vendors give all cards the same one. */
const hostsOfCardMax = 16;

/** Devices of other hosts that are the same card. */
export async function devicesElsewhere(
  deps: Deps,
  hostname: string,
  device: Pick<Device, 'vendor' | 'product' | 'identity'>,
): Promise<Device[]> {
  const card = cardOf(device);
  if (card === undefined) return [];
  const found = await deps.listings.devicesOfCard(card);
  const others = found.filter((each) => each.hostname !== hostname);
  if (new Set(others.map((each) => each.hostname)).size <= hostsOfCardMax) return others;
  deps.log.warn('Serial number ignored: on too many hosts.', { card });
  return [];
}

/**
 * The devices without those whose host still has its card: the host has reported since another
 * showed a card with the same serial number, so there are two.
 *
 * @param sightedAt when the other host first showed it; ISO 8601
 */
export async function withoutPresent(
  deps: Deps,
  devices: readonly Device[],
  sightedAt: string,
): Promise<Device[]> {
  const hosts = await deps.store.inventory.hostsAlone(devices.map(({ hostname }) => hostname));
  return devices.filter((device) => {
    const host = hosts.get(device.hostname);
    return device.isGone || !host || !hasShown(host, device, sightedAt);
  });
}

/** A hello, or a report without the device's driver, does not show the device. */
function hasShown(host: StoredHost, { driver }: Device, sightedAt: string): boolean {
  const { lastReportAt = '', failedDrivers = [], isReprovisioning } = host;
  return lastReportAt > sightedAt && !isReprovisioning && !failedDrivers.includes(driver);
}

/** What is left of the card at each of these places. */
export function placesOf(deps: Deps, devices: readonly Device[]): Promise<EarlierPlace[]> {
  return Promise.all(
    devices.map(async ({ hostname, address, providers }) => {
      const found = await deps.store.inventory.providers(providers);
      const handles = found.flatMap((provider) => provider.handles);
      const unclean = handles.filter(
        (handle) => !handle.claim && (!isUnheld(handle) || isWithheld(handle)),
      );
      const work = await deps.store.releases.awaitedOf(
        unclean.flatMap(({ release }) => release ?? []),
      );
      const byId = new Map(work.map((each) => [each.id as string, each]));
      return {
        ...{ hostname, address },
        held: handles.filter(({ claim }) => claim).length,
        unclean: unclean.map((handle) => ({
          ...(handle.cleanSeconds !== undefined && { cleanSeconds: handle.cleanSeconds }),
          since: leftAt(handle, byId),
        })),
      };
    }),
  );
}

/** Later than any cleaning where it is not known. */
function leftAt(
  { release, restoredAt }: AttachHandle,
  byId: ReadonlyMap<string, AwaitedWork>,
): string {
  const work = release && byId.get(release);
  return work ? leftAtOf(work) : (restoredAt ?? '9999');
}
