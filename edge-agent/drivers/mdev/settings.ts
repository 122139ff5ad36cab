// Settings of driver `mdev`: which parents are offered, and as what type. One type per card, as in
// Nova's `[devices]enabled_mdev_types` with `device_addresses` per type, so that Placement never
// offers what the card cannot hold any more.

import * as z from 'zod';
import { customTraits, oneOrMany } from '#agent/drivers/contract/setting-forms.ts';
import { parsePciAddress, printPciAddress } from '#agent/sysfs/pci-address.ts';
import { isKernelName } from '#core/contracts/attach-handle.ts';

const address = z.string().transform((text, context) => {
  const parsed = parsePciAddress(text);
  if (parsed) return printPciAddress(parsed);
  if (isKernelName(text)) return text;
  const message = 'must be a PCI address, such as "0000:3b:00.0", or a name in /sys/class/mdev_bus';
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});

const pool = z.strictObject({
  /** Physical functions, or single virtual functions. */
  parents: oneOrMany(address, 256),
  type: z
    .string()
    .regex(/^[a-zA-Z0-9_-]{1,64}$/, 'must be the name of a directory in mdev_supported_types'),
  resource_class: z
    .string()
    .regex(/^(VGPU|CUSTOM_[A-Z0-9_]{1,248})$/, 'must be VGPU or CUSTOM_...')
    .default('VGPU'),
  traits: customTraits,
});

export const mdevSettings = z
  .strictObject({
    pools: z.array(pool, 'must list the parents and the type of each').min(1).max(64),
    /** `ahead`: all mdevs exist before any bind. `at-bind`: a job makes each. */
    made: z.enum(['ahead', 'at-bind'], 'must be ahead or at-bind').default('ahead'),
    /**
     * `recreate`: an mdev is removed and recreated after each holder. `none`: only where the
     * vendor's driver erases the memory when a guest closes the mdev.
     */
    clean: z.enum(['recreate', 'none'], 'must be recreate or none').default('recreate'),
  })
  .refine(
    ({ pools }) => {
      const parents = pools.flatMap((each) => each.parents);
      return new Set(parents).size === parents.length;
    },
    { path: ['pools'], message: 'must not name a parent more than once' },
  );

export type MdevSettings = z.infer<typeof mdevSettings>;
export type MdevPool = MdevSettings['pools'][number];
