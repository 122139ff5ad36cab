// Settings of driver `intel_fpga`: which cards are offered, how, and with which images their
// regions are blanked after a holder.

import * as z from 'zod';
import {
  absolutePath,
  areDistinct,
  cardTwice,
  customTraits,
  oneOrMany,
  pciAddress,
  vfioDriver,
} from '#agent/drivers/contract/setting-forms.ts';
import { type AllowListEntry, pciAllowList } from '#agent/drivers/pci/allow-list.ts';
import { cardComponents } from '#agent/drivers/pci/components.ts';

export const intelFpgaName = 'intel_fpga';

const cards = z.preprocess(
  (input) => (typeof input === 'string' ? { addresses: [input] } : input),
  z.strictObject({
    addresses: oneOrMany(pciAddress, 64),
    /**
     * Each port of a card goes to a virtual function, and the management engine stays with the
     * host. `false`: the guest gets the physical function, and with it the management engine.
     */
    virtual_functions: z.boolean('must be true or false').default(true),
    /** The driver that offered virtual functions are bound to. */
    bind_to: vfioDriver.default('vfio-pci'),
    traits: customTraits,
    /** What the card's controller takes as a secure update: the shell, or its own firmware. */
    components: cardComponents.optional(),
  }),
);

const interfaceIs =
  'must have interface uuids as keys, such as "9926ab6d-6c92-5a68-aabc-a7d84c545738"';
const cleans = ['blank', 'reset', 'none'] as const;

export const intelFpgaSettings = z
  .strictObject({
    cards: z
      .array(cards, 'must list the cards that are offered')
      .min(1, 'must list the cards that are offered')
      .max(64),
    /**
     * After each holder. `blank`: write the blank image of the region's interface. `reset`: reset
     * the port alone. `none`: nothing.
     */
    clean: z.enum(cleans, `must be one of ${cleans.join(', ')}`).default('blank'),
    /** The operator's word that the next holder may read what the last one has left. */
    data_may_stay: z.boolean('must be true or false').default(false),
    /** Uuid of a region's interface → a GBS file whose function does nothing. */
    blank_images: z
      .record(z.string(), absolutePath, interfaceIs)
      .refine(
        (images) => Object.keys(images).every((key) => z.guid().safeParse(key).success),
        interfaceIs,
      )
      .transform(
        (images) => new Map(Object.entries(images).map(([key, file]) => [key.toLowerCase(), file])),
      )
      .default(new Map()),
    /** OPAE's program: for images with a user clock, and for the driver intel-fpga. */
    fpgaconf: absolutePath.default('/usr/bin/fpgaconf'),
    /** OPAE's program that gives ports to virtual functions, for the driver intel-fpga. */
    fpgaport: absolutePath.default('/usr/bin/fpgaport'),
  })
  .refine(({ clean, data_may_stay: mayStay }) => clean === 'blank' || mayStay, {
    path: ['clean'],
    message: 'leaves the image and its memory: allow this by data_may_stay, or choose blank',
  })
  .refine((settings) => areDistinct(settings), cardTwice);

export type IntelFpgaSettings = z.infer<typeof intelFpgaSettings>;
export type IntelFpgaCards = IntelFpgaSettings['cards'][number];

/** The cards in the form of driver `pci`, which finds, guards and binds their functions. */
export function toAllowList({ cards: all, clean }: IntelFpgaSettings): readonly AllowListEntry[] {
  return pciAllowList.parse(
    all.flatMap(({ addresses, virtual_functions, bind_to, traits, components }) =>
      addresses.map((address) => ({
        address,
        virtual_functions,
        traits,
        ...(components && { components }),
        device_type: 'FPGA',
        resource_class: 'FPGA',
        clean: clean === 'none' ? 'none' : 'reset',
        // A whole card stays on the host's driver, through which it is programmed.
        ...(virtual_functions && { bind_to }),
      })),
    ),
  );
}
