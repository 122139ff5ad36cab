// Settings of driver `nvme`: which devices it offers as a whole, and how it erases each of them
// after its holder.

import * as z from 'zod';
import { customName, customTraits, vfioDriver } from '#agent/drivers/contract/setting-forms.ts';
import {
  type AllowListEntry,
  addressPattern,
  pciAllowList,
  pciId,
} from '#agent/drivers/pci/allow-list.ts';
import { cleanSecondsMax } from '#core/shapes/attach-handle.ts';

const device = z.preprocess(
  (input) => (typeof input === 'string' ? { address: input } : input),
  z
    .strictObject({
      address: addressPattern.optional(),
      vendor_id: pciId.optional(),
      product_id: pciId.optional(),
    })
    .refine(
      ({ address, vendor_id: vendor, product_id: product }) =>
        /[0-9a-f]/.test(`${address ?? ''}${vendor ?? ''}${product ?? ''}`),
      'must narrow address, vendor_id or product_id, or every NVMe device would match',
    ),
);

/** Ways to clean that erase what a holder has written. */
const erasing = ['sanitise', 'crypto-erase', 'block-erase', 'overwrite', 'format'] as const;
const cleans = [...erasing, 'reset', 'none'] as const;

export const nvmeSettings = z
  .strictObject({
    devices: z
      .array(device, 'must list addresses, or vendor_id and product_id, of NVMe devices')
      .min(1, 'must say which devices driver nvme may offer')
      .max(256),
    /** Offered devices are on it; while a device is cleaned, it is on the kernel's `nvme`. */
    bind_to: vfioDriver.default('vfio-pci'),
    /** `sanitise` takes the first method that the controller supports and completes. */
    clean: z.enum(cleans, `must be one of ${cleans.join(', ')}`).default('sanitise'),
    /** The operator's word that the next holder may read what the last one has written. */
    data_may_stay: z.boolean('must be true or false').default(false),
    /** An overwrite writes the whole medium, which takes hours. */
    clean_seconds: z
      .int()
      .min(60, 'must be at least 60')
      .max(cleanSecondsMax, `must be at most ${cleanSecondsMax}`)
      .default(4 * 3600),
    /** `reset` deletes all namespaces after the erasure, and makes one of all the capacity. */
    namespaces: z.enum(['keep', 'reset'], 'must be keep or reset').default('keep'),
    /** Sanitize and Format do not touch boot partitions. `keep` leaves a holder's code there. */
    boot_partitions: z
      .enum(['zero', 'refuse', 'keep'], 'must be zero, refuse or keep')
      .default('zero'),
    /** The program of nvme-cli. */
    tool: z
      .string()
      .regex(/^\/[!-~]+$/, 'must be an absolute path')
      .default('/usr/sbin/nvme'),
    resource_class: customName.default('CUSTOM_SSD'),
    traits: customTraits,
  })
  .refine(({ clean, data_may_stay: mayStay }) => isErasing(clean) || mayStay, {
    path: ['clean'],
    message: 'erases no data: allow this by data_may_stay, or choose another value',
  });

export type NvmeSettings = z.infer<typeof nvmeSettings>;

export function isErasing(clean: string): boolean {
  return erasing.some((each) => each === clean);
}

/** NVMe controllers, PCI class 01 08, that the settings name. */
export function toAllowList(settings: NvmeSettings): readonly AllowListEntry[] {
  const { bind_to, resource_class, traits, clean } = settings;
  return pciAllowList.parse(
    settings.devices.map((each) => ({
      ...each,
      class: '0108',
      device_type: 'SSD',
      bind_to,
      resource_class,
      traits,
      clean: clean === 'reset' ? 'reset' : 'none',
    })),
  );
}
