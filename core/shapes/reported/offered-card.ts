// The card at the address of an offered device. An address names a place: after a boot another
// card, or a disk of the host, may sit there. The agent and the control plane compare alike.

import * as z from 'zod';
import { pciAddress } from '../derive/fields.ts';

const time = z.iso.datetime().max(32);

export const offeredCard = z.object({
  /** Vendor and product, class, subsystem: `10de:26b9 030200 10de:16a1`. */
  identity: z
    .string()
    .regex(/^[0-9a-f]{4}:[0-9a-f]{4} [0-9a-f]{6} [0-9a-f]{4}:[0-9a-f]{4}$/)
    .meta({ examples: ['10de:26b9 030200 10de:16a1'] }),
  /** The serial number, if it shows one. */
  serial: z
    .string()
    .regex(/^[\x21-\x7e]{1,128}$/)
    .optional(),
  /** Since when its host has offered it; ISO 8601, by the host's clock, as all times here. */
  since: time,
  /** When an operator of the host has confirmed it. */
  confirmed_at: time.optional(),
  /** The host's settings name it by its ids, so it may replace another card. */
  is_named: z.literal(true).optional(),
});

/** The most cards that a host names of one pool. */
export const unitCardsMax = 64;

/** Cards of a pool's units, by their addresses: the pool itself has none. */
export const unitCards = z
  .record(pciAddress, offeredCard)
  .refine((cards) => Object.keys(cards).length <= unitCardsMax);

interface ComparedCard {
  readonly identity: string;
  readonly serial?: string | undefined;
}

/** Why a card must not be offered in place of another; completes "The device at <address> ...". */
export function otherCardRefusal(
  address: string,
  before: ComparedCard,
  now: ComparedCard,
): string | undefined {
  const advice = `confirm it by cyborg-agent confirm ${address}, or name its ids in its entry`;
  if (before.identity !== now.identity) {
    const [ids = '', classCode = '', subsystem = ''] = before.identity.split(' ');
    const [idsNow = '', classNow = '', subsystemNow = ''] = now.identity.split(' ');
    const isSameModel = ids === idsNow;
    const was = isSameModel ? `${ids} of class ${classCode}, subsystem ${subsystem},` : ids;
    const rest = isSameModel ? `, subsystem ${subsystemNow}` : '';
    return `is ${idsNow} of class ${classNow}${rest}, and ${was} was offered here: ${advice}`;
  }
  if (before.serial === undefined || now.serial === undefined || before.serial === now.serial) {
    return undefined;
  }
  return `has the serial number ${now.serial}, and the one with ${before.serial} was offered here: ${advice}`;
}
