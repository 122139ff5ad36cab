// Which cards driver `mdev` offers, by its settings and what the host has.

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { NotOffered } from '#agent/drivers/contract/driver.ts';
import {
  type ExistingMdev,
  hasType,
  listTypes,
  type MdevParent,
  readMdevParents,
} from '#agent/sysfs/mdev.ts';
import { readPciFunctionAt } from '#agent/sysfs/pci.ts';
import { parsePciAddress } from '#agent/sysfs/pci-address.ts';
import { isMadeAhead } from './objects.ts';
import type { MdevPool, MdevSettings } from './settings.ts';

/** What one card offers. */
export interface Card {
  readonly address: string;
  readonly pool: MdevPool;
  readonly parents: readonly MdevParent[];
}

/** The cards of the settings, and why others are not offered. */
export function chooseCards(settings: MdevSettings, { sysfs }: DriverContext) {
  const all = readMdevParents(sysfs);
  const cards = new Map<string, Card>();
  const notOffered: NotOffered[] = [];
  for (const pool of settings.pools) {
    for (const named of pool.parents) {
      const parents = all.filter((each) => each.address === named || each.physical === named);
      const able = parents.filter((parent) => hasType(sysfs, parent, pool.type));
      const [first] = able;
      if (!first) {
        const types = [...new Set(parents.flatMap((parent) => listTypes(sysfs, parent)))];
        const reason =
          parents.length === 0
            ? 'has no mdev types: its driver is not loaded, or its virtual functions are off'
            : `does not have the type ${pool.type}; it has ${types.join(', ') || 'none'}`;
        notOffered.push({ address: named, reason });
        continue;
      }
      const before = cards.get(first.physical);
      if (before && before.pool !== pool) {
        const other = `has type ${before.pool.type} already; a card has one type`;
        notOffered.push({ address: named, reason: other });
      } else {
        const joined = [...(before?.parents ?? []), ...able];
        cards.set(first.physical, { address: first.physical, pool, parents: joined });
      }
    }
  }
  return { cards: [...cards.values()], notOffered };
}

/** An mdev that another program has made. */
export function usedByOthers(
  { made }: MdevSettings,
  context: DriverContext,
  card: Card,
  existing: readonly ExistingMdev[],
): string | undefined {
  const unread = existing.find(({ parent, uuid }) => parent === '' && !context.isPrepared(uuid));
  if (unread) return `may have the mdev ${unread.uuid}, which cannot be read`;
  const foreign = existing.find(
    (mdev) =>
      card.parents.some(({ address }) => address === mdev.parent) &&
      !(made === 'ahead' && isMadeAhead(context, mdev)) &&
      !context.isPrepared(mdev.uuid),
  );
  return foreign && `has the mdev ${foreign.uuid}, which another program has made`;
}

/**
 * A server that has the card, or a virtual function of it, as a PCI device. Not asked of a card
 * with mdevs: they are given to servers, and definitions name them and not the card.
 */
export async function serverOn(
  { sysfs, guards }: DriverContext,
  { address, parents }: Card,
  existing: readonly ExistingMdev[],
): Promise<string | undefined> {
  if (existing.some(({ parent }) => parents.some((each) => each.address === parent))) return;
  const fn = parsePciAddress(address) && readPciFunctionAt(sysfs, address);
  return fn && (await guards.ofServers([fn])).held.get(address);
}
