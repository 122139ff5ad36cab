// Whether a card may be offered where its host reports it. Attach handles at another place of the
// same card, in this host or another, may be held or not clean: what their last holder left is on
// the card. Pure.

import type { Shaped } from '#core/shapes/derive/case.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { cardCleaning, cardPlace } from '#core/shapes/device.ts';
import type { AttachHandle, Device, DiscoveredDevice, HandleCare } from './device.ts';
import { vendorId } from './device.ts';
import { isUnheld, isWithheld } from './handle-state.ts';

/** Kept with a device beyond what its host reports. */
export type CardCleaning = Shaped<typeof cardCleaning>;
export type CardPlace = Shaped<typeof cardPlace>;

/** Another place of the card, with the handles there. */
export interface EarlierPlace extends CardPlace {
  /** Handles that an ARQ holds. */
  readonly held: number;
  readonly unclean: readonly UncleanHandle[];
}

interface UncleanHandle extends Pick<HandleCare, 'cleanSeconds'> {
  /** When its last holder left. */
  readonly since: string;
}

export interface CardVerdict {
  /** Undefined for a device that is offered. */
  readonly reason?: string;
  /** What is stored with the device. */
  readonly cleaning?: CardCleaning;
  /** Whether its host is asked now to clean all handles of the device. */
  readonly isToClean: boolean;
}

interface CardOnReport {
  readonly hostname: string;
  readonly device: DiscoveredDevice;
  /** What was stored of the same card at this address. */
  readonly stored: CardCleaning | undefined;
  /** The device's own handles, as stored. */
  readonly handles: readonly AttachHandle[];
  readonly places: readonly EarlierPlace[];
  /** No record of the card exists, and its class is cleaned then. */
  readonly isNewCard: boolean;
}

/** The key of the index by card; undefined where the host reports no serial number. */
export function cardKey(
  device: Pick<Device, 'vendor' | 'product' | 'identity'>,
): string | undefined {
  const { vendor, product, identity } = device;
  return identity && `${vendorId(vendor)}:${vendorId(product)}:${identity}`;
}

export function judgeCard(card: CardOnReport, now: string): CardVerdict {
  const { hostname, device, stored = {}, handles, places, isNewCard } = card;
  const isClean = handles.every((handle) => isUnheld(handle) && !isWithheld(handle));
  const cleanedAt = stored.askedAt && isClean ? stored.askedAt : stored.cleanedAt;
  const left = places.map((place) => ({
    ...place,
    unclean: place.unclean.filter(({ since }) => cleanedAt === undefined || since >= cleanedAt),
  }));
  const at = left.find(({ held, unclean }) => held + unclean.length > 0);
  // The end of a release elsewhere proves nothing: its host no longer has the card.
  const isUncleaned =
    (isNewCard || stored.withheldSince !== undefined) &&
    !(cleanedAt !== undefined && cleanedAt >= (stored.withheldSince ?? '')) &&
    needsCleaning(device);
  if (!at && !isUncleaned) {
    return { isToClean: false, ...(cleanedAt && { cleaning: { cleanedAt } }) };
  }
  const askedAt = isClean ? undefined : stored.askedAt;
  // The handles of an earlier card in this slot are cleaned by their own release.
  const isHere = (place: CardPlace) =>
    place.hostname === hostname && place.address === device.address;
  const isHeld = left.some(
    (place) => place.held > 0 || (isHere(place) && place.unclean.length > 0),
  );
  const isCleanable =
    needsCleaning(device) ||
    left.every(({ unclean }) => unclean.every(({ cleanSeconds }) => cleanSeconds === undefined));
  const isToClean = !isHeld && isClean && isCleanable;
  return {
    reason: at ? describeReason(at, { hostname, address: device.address }) : uncleanedReason,
    cleaning: {
      withheldSince: stored.withheldSince ?? now,
      ...present({
        heldAt: at ? { hostname: at.hostname, address: at.address } : stored.heldAt,
        askedAt,
        cleanedAt,
      }),
    },
    isToClean,
  };
}

/** Whether its host cleans every handle of the device after a holder. */
function needsCleaning({ offers, regions }: DiscoveredDevice): boolean {
  const handles = [...(offers ? [offers] : []), ...regions].flatMap((each) => each.attachHandles);
  return handles.length > 0 && handles.every(({ cleanSeconds }) => cleanSeconds !== undefined);
}

const uncleanedReason = 'is a card that its host has not cleaned yet since it was first seen there';

/** A clause that completes "The device at <address> ...". */
function describeReason({ held, unclean, ...at }: EarlierPlace, here: CardPlace): string {
  const count = held + unclean.length;
  if (at.hostname !== here.hostname) {
    return `is the card that was at ${at.address} of host ${at.hostname}, and ${count} attach handles there are held or not clean`;
  }
  return at.address === here.address
    ? `is another card than before, and ${count} attach handles of the earlier card are held or not clean`
    : `is the card that was at ${at.address}, and ${count} attach handles there are held or not clean`;
}
