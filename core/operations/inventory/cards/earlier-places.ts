import type { Deps } from '#core/deps.ts';
import { cardKey, type EarlierPlace } from '#core/domain/device/card-cleaning.ts';
import type { AttachHandle, Device } from '#core/domain/device/device.ts';
import { isUnheld, isWithheld } from '#core/domain/device/handle-state.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import { type AwaitedWork, leftAtOf } from '#core/domain/host-work/host-work.ts';
import { present } from '#core/shapes/derive/present.ts';

/** One serial number on more hosts names no card: some vendors give all cards the same one. */
const hostsOfCardMax = 16;

/** Reads for one report: a host may report many devices with one serial number. */
export interface CardReads {
  /** Devices of other hosts that are the same card. */
  elsewhere(device: Pick<Device, 'vendor' | 'product' | 'identity'>): Promise<readonly Device[]>;
  /** What is left of the card at each of these places. */
  readPlaces(devices: readonly Device[]): Promise<EarlierPlace[]>;
}

export function createCardReads(deps: Deps, hostname: string): CardReads {
  const cards = new Map<string, Promise<readonly Device[]>>();
  const places = new Map<string, Promise<EarlierPlace>>();
  return {
    async elsewhere(device) {
      const card = cardKey(device);
      return card === undefined ? [] : onceFor(cards, card, () => elsewhere(deps, hostname, card));
    },
    readPlaces: (devices) =>
      Promise.all(
        devices.map((device) => onceFor(places, device.uuid, () => readPlace(deps, device))),
      ),
  };
}

function onceFor<T>(cache: Map<string, Promise<T>>, key: string, read: () => Promise<T>) {
  const reading = cache.get(key) ?? read();
  cache.set(key, reading);
  return reading;
}

async function elsewhere(deps: Deps, hostname: string, card: string): Promise<readonly Device[]> {
  const devices = await deps.listings.devicesOfCard(card, hostname, hostsOfCardMax);
  if (devices !== 'too-many') return devices;
  deps.log.warn('Serial number ignored: on too many hosts', { card });
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
  const hosts = await deps.store.inventory.hostsAlone([
    ...new Set(devices.map(({ hostname }) => hostname)),
  ]);
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

async function readPlace(
  deps: Deps,
  { hostname, address, providers }: Device,
): Promise<EarlierPlace> {
  const stored = await deps.store.inventory.providers(providers);
  const handles = stored.flatMap((provider) => provider.handles);
  const unclean = handles.filter(
    (handle) => !handle.claim && (!isUnheld(handle) || isWithheld(handle)),
  );
  const work = await deps.store.releases.awaitedOf(unclean.flatMap(({ release }) => release ?? []));
  const byId = new Map(work.map((each) => [each.id as string, each]));
  return {
    hostname,
    address,
    held: handles.filter(({ claim }) => claim).length,
    unclean: unclean.map((handle) => ({
      ...present({ cleanSeconds: handle.cleanSeconds }),
      since: leftAt(handle, byId),
    })),
  };
}

/** Later than any cleaning where it is not known. */
function leftAt(
  { release, restoredAt }: AttachHandle,
  byId: ReadonlyMap<string, AwaitedWork>,
): string {
  const work = release && byId.get(release);
  return work ? leftAtOf(work) : (restoredAt ?? '9999');
}
