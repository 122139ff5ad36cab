// Settings of driver `qat`: which cards are offered, by virtual functions or as a whole, and which
// services they run.

import * as z from 'zod';
import {
  areDistinct,
  cardTwice,
  customName,
  oneOrMany,
  pciAddress,
} from '#agent/drivers/contract/setting-forms.ts';
import { type AllowListEntry, allowListEntry } from '#agent/drivers/pci/allow-list.ts';
import { present } from '#core/shapes/derive/present.ts';
import { qatServices } from './families.ts';

const { bind_to, traits, clean } = allowListEntry.shape;

const servicesAre = `must be a list of ${qatServices.join(', ')}, each once; dcc alone`;

const card = z
  .strictObject({
    addresses: oneOrMany(pciAddress, 64),
    /** All that the card can have: the kernel's driver makes no other number. */
    virtual_functions: z.boolean('must be true or false').default(true),
    /** Absent: as the kernel's driver has set them. */
    services: z
      .array(z.enum(qatServices, servicesAre), servicesAre)
      .min(1, servicesAre)
      .max(3, servicesAre)
      .refine((services) => new Set(services).size === services.length, servicesAre)
      .refine((services) => !services.includes('dcc') || services.length === 1, servicesAre)
      .optional(),
    bind_to,
    clean: clean.unwrap().default('reset'),
    resource_class: customName.default('CUSTOM_QAT'),
    traits,
  })
  .refine(({ services, virtual_functions: isDivided }) => !services || isDivided, {
    path: ['services'],
    message: 'is for virtual functions: the holder of a whole card sets its services',
  });
export type QatCard = z.infer<typeof card>;

export const qatSettings = z
  .strictObject({
    cards: z
      .array(card, 'must list the QAT cards that are offered')
      .min(1, 'must list the QAT cards that are offered')
      .max(64),
  })
  .refine((settings) => areDistinct(settings), cardTwice);
export type QatSettings = z.infer<typeof qatSettings>;

/** Address of the physical function → card. */
export function cardsByAddress({ cards }: QatSettings): ReadonlyMap<string, QatCard> {
  return new Map(
    cards.flatMap((each) => each.addresses.map((address) => [address, each] as const)),
  );
}

/**
 * In the form of driver `pci`.
 *
 * @param countOf how many virtual functions a card is to have; without it those that exist count
 */
export function toAllowList(
  cards: ReadonlyMap<string, QatCard>,
  countOf: (address: string) => number | undefined = () => undefined,
): readonly AllowListEntry[] {
  return [...cards].map(([address, card]) => ({
    address,
    vendor_id: '8086',
    class: '0b40',
    device_type: 'QAT',
    resource_class: card.resource_class,
    traits: card.traits,
    virtual_functions: card.virtual_functions && (countOf(address) ?? true),
    ...present({ bind_to: card.bind_to }),
    companions: false,
    clean: card.clean,
  }));
}
