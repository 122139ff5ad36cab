// Alveo cards as XRT's drivers show them in sysfs: xclmgmt on the management function, xocl on the
// user function (XRT, core/pcie/driver/linux/xocl/{mgmtpf/mgmt-sysfs.c,userpf/xocl_sysfs.c}). On a
// VFIO driver a card shows nothing, so what was read before is kept in a file of the driver.

import * as z from 'zod';
import { createDeviceLocks } from '#agent/device-locks.ts';
import { plainUuid } from '#agent/images/xclbin.ts';
import { openStateFiles } from '#agent/state/state-files.ts';
import {
  type PciFunction,
  readIfReadable,
  readPciFunctionAt,
  readPciFunctions,
} from '#agent/sysfs/pci.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';

const vendorId = '10ee';
/** Ids of the images that cards leave the factory with: XRT, xocl/devices.h (XBB_MFG). */
const goldenIds: ReadonlySet<string> = new Set(
  'd000 d004 d020 d030 d03c d04c 5098 e098 e987 eb10 f987'.split(' '),
);

/** The two functions of one card. */
export interface Card {
  readonly management: PciFunction;
  readonly user: PciFunction;
}

/** A clause that completes "The device at <address> ..." if there is no such card. */
export function cardAt(sysfs: Sysfs, address: string): Card | string {
  const management = readPciFunctionAt(sysfs, address);
  if (!management) return 'is not on this host';
  if (management.vendorId !== vendorId) return 'is not of vendor 10ee';
  const isGolden =
    goldenIds.has(management.productId) || readIfReadable(sysfs, `${management.path}/mfg`) === '1';
  if (isGolden) return 'has the golden image: an operator must flash a shell, and start the host';
  if (readIfReadable(sysfs, `${management.path}/recovery`) === '1') {
    return 'has its recovery image: an operator must flash a shell, and start the host';
  }
  const slot = address.slice(0, -1);
  const all = readPciFunctions(sysfs, () => {});
  const others = all.filter((fn) => fn.address.startsWith(slot) && fn.address !== address);
  const [user, ...more] = others;
  if (!user) return 'has no user function: name the management function, and flash a shell';
  if (more.length > 0 || user.vendorId !== vendorId)
    return 'has other functions than an Alveo card';
  return { management, user };
}

const uuid = z.string().regex(/^[0-9a-f]{32}$/);
const shown = (max: number) => z.string().regex(new RegExp(`^[!-~]([ -~]{0,${max - 2}}[!-~])?$`));
const facts = z.object({
  /** The ids of the functions that were read. */
  ids: z.string(),
  /** Lower case, without hyphens; the last one is that of images. */
  interfaces: z.array(uuid).min(1).max(16),
  /** Interfaces of the shell and of its partitions; an image is for one of them. */
  platforms: z.array(shown(63)).min(1).max(8),
  /** The platform in the card's flash that runs: the first of those. */
  base: shown(63).optional(),
  /** The boot in which the agent has written the shell: the card must be read after it. */
  flashed: z.string().optional(),
  board: shown(64).optional(),
  serial: shown(64).optional(),
  firmware: shown(64).optional(),
  /** What the agent has loaded in this boot, after the last holder. */
  content: z.object({ boot_id: z.string(), function: z.guid(), image: z.guid() }).optional(),
});
export type CardFacts = z.infer<typeof facts>;
const form = z.record(z.string(), facts);

/** What is only shown is left out if it is not valid. */
export function validFact(text: string | undefined, max = 64): string | undefined {
  return shown(max).safeParse(text?.trim()).data;
}

/** Undefined if the driver shows none. */
export function interfacesFrom(text: string): string[] | undefined {
  const lines = text.split('\n').map((line) => plainUuid(line.trim()));
  const { data } = facts.shape.interfaces.safeParse(lines.filter((line) => line !== ''));
  return data && [...new Set(data)];
}

export interface KnownCards {
  /** Undefined for another card than the one that was read. */
  get(card: Card): Promise<CardFacts | undefined>;
  keep(card: Card, facts: Omit<CardFacts, 'ids'>): Promise<void>;
  /** Before the content of the card changes: a crash leaves it unknown. */
  forgetContent(card: Card): Promise<void>;
}

const file = 'cards.json';

export function openKnownCards(directory: string): KnownCards {
  const files = openStateFiles(directory);
  const locks = createDeviceLocks();
  let kept: z.infer<typeof form> | undefined;
  const load = async () => {
    const read = kept ?? readKnown(await files.read(file));
    // A change may have ended meanwhile: what it has written is newer.
    kept ??= read;
    return kept;
  };
  // Jobs on several cards write one file.
  const change = (address: string, next: CardFacts) =>
    locks.hold([file], async () => {
      const before = await load();
      if (JSON.stringify(before[address]) === JSON.stringify(next)) return;
      const after = { ...before, [address]: next };
      await files.replace(file, JSON.stringify(after));
      // Not before it is on disk: a failed change is written by the next attempt.
      kept = after;
    });
  const get = async (card: Card) => {
    const stored = (await load())[card.management.address];
    return stored?.ids === cardIds(card) ? stored : undefined;
  };
  return {
    get,
    keep: async (card, facts) =>
      await change(card.management.address, { ...facts, ids: cardIds(card) }),
    forgetContent: async (card) => {
      const stored = await get(card);
      if (!stored?.content) return;
      const { content: _, ...rest } = stored;
      await change(card.management.address, rest);
    },
  };
}

/** A file that is not valid is as none: the cards are read again by their drivers. */
function readKnown(text: string | undefined): z.infer<typeof form> {
  return form.safeParse(parseJson(text)).data ?? {};
}

function cardIds({ management, user }: Card): string {
  return [management, user]
    .map(({ productId, subsystemId }) => `${productId}/${subsystemId}`)
    .join(' ');
}
