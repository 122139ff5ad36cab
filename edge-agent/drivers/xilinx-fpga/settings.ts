// Settings of driver `xilinx_fpga`: which Alveo cards are offered, each with both of its
// functions.

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

export const xilinxName = 'xilinx_fpga';

const cards = z.strictObject({
  /** Addresses of management functions, such as `0000:d8:00.0`. */
  addresses: oneOrMany(pciAddress, 64),
  /** Loaded after each holder, so that the card has no logic of it: an xclbin for its shell. */
  blank_image: absolutePath.optional(),
  resource_class: z
    .string()
    .regex(/^(FPGA|CUSTOM_[A-Z0-9_]{1,248})$/, 'must be FPGA or CUSTOM_...')
    .default('FPGA'),
  traits: customTraits,
});

const secondsAre = 'must be a number from 10 to 3600';

export const xilinxSettings = z
  .strictObject({
    cards: z.array(cards, 'must list the cards that are offered').min(1).max(64),
    /** The operator's word: no tool of XRT erases the memory on a card. */
    data_may_stay: z.literal(true, {
      error: 'must be true: the next holder may read what is left in the memory of a card',
    }),
    bind_to: vfioDriver.default('vfio-pci'),
    xbutil: absolutePath.default('/opt/xilinx/xrt/bin/xbutil'),
    xbmgmt: absolutePath.default('/opt/xilinx/xrt/bin/xbmgmt'),
    /** The longest time of one run of xbutil. */
    tool_seconds: z.int(secondsAre).min(10, secondsAre).max(3600, secondsAre).default(120),
  })
  // Both functions of a card are in one slot: two entries would offer each of them twice.
  .refine((settings) => areDistinct(settings, (address) => address.slice(0, -1)), cardTwice);

export type XilinxSettings = z.infer<typeof xilinxSettings>;
export type XilinxCards = XilinxSettings['cards'][number];
