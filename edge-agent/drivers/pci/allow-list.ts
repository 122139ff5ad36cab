// Which PCI functions the operator gives to Cyborg: entries as in Cyborg's
// `passthrough_whitelist`, with additional fields for the type of the device and how it is
// offered. The first match counts.

import * as z from 'zod';
import { customTraits, vfioDriver } from '#agent/drivers/contract/setting-forms.ts';
import type { PciFunction } from '#agent/sysfs/pci.ts';
import { reportedDevice } from '#core/contracts/report/inventory-report.ts';
import { cardComponents } from './components.ts';
import { poolName } from './pools.ts';
import { resetRungs } from './reset.ts';

/** Lower case, without `0x`. */
export const hexadecimal = (pattern: RegExp, form: string) =>
  z
    .string(`must be ${form}`)
    .toLowerCase()
    .transform((text) => text.replace(/^0x/, ''))
    .pipe(z.string().regex(pattern, { error: `must be ${form}`, abort: true }));
export const pciId = hexadecimal(/^([0-9a-f]{4}|\*)$/, 'four hexadecimal digits or "*"');
export const classPrefix = hexadecimal(
  /^([0-9a-f]{2}){1,3}$/,
  'two, four or six digits of a class code',
);

const addressIs =
  'must be a PCI address, with "*" for parts that may be anything, such as "*:0a:00.*"';
/** Each part is a hexadecimal number or `*`; a missing part matches everything, as in Nova. */
export const addressPattern = z
  .string(addressIs)
  .toLowerCase()
  .regex(/^(([0-9a-f]{0,8}|\*):)?([0-9a-f]{0,2}|\*):([0-9a-f]{0,2}|\*)(\.([0-7]?|\*))?$/, {
    error: addressIs,
    abort: true,
  });

function isCount(value: unknown): value is boolean | number {
  return typeof value === 'boolean' || z.int().min(1).max(65535).safeParse(value).success;
}

const rungsAre = `must list ${resetRungs.join(', ')}, each at most once`;
export const resets = z
  .array(z.enum(resetRungs, rungsAre), rungsAre)
  .min(1, rungsAre)
  .refine((rungs) => new Set(rungs).size === rungs.length, rungsAre);

const isStated = z.boolean('must be true or false');

/** One entry; drivers with other settings make such entries of them. */
export const allowListEntry = z
  .strictObject({
    vendor_id: pciId.optional(),
    product_id: pciId.optional(),
    address: addressPattern.optional(),
    class: classPrefix.optional(),
    device_type: reportedDevice.shape.type.optional(),
    resource_class: z
      .string('must be FPGA, PGPU or CUSTOM_...')
      .regex(/^(FPGA|PGPU|CUSTOM_[A-Z0-9_]{1,248})$/, 'must be FPGA, PGPU or CUSTOM_...')
      .default('CUSTOM_PCI'),
    traits: customTraits,
    /**
     * Offer the virtual functions one by one instead of their physical function; a number also
     * makes that many on each matching physical function.
     */
    virtual_functions: z
      .unknown()
      .refine(isCount, 'must be true, false or a number from 1 to 65535')
      .default(false),
    /** The driver that offered functions are bound to; by default they stay as they are. */
    bind_to: vfioDriver.optional(),
    /**
     * The audio and USB functions of the same card belong to it: they are bound to the same
     * driver, and no other guest gets them.
     */
    companions: z.boolean('must be true or false').default(false),
    /** What the agent does after each guest; VFIO itself resets the function at both ends. */
    clean: z.enum(['none', 'reset'], 'must be none or reset').default('none'),
    /** The ways to reset it, in this order, until one brings it back as it was; all by default. */
    resets: resets.optional(),
    /** The operator says that the Fabric Manager lets guests use the GPU: fitness/boards.ts. */
    fabric_ready: isStated.optional(),
    /** The operator accepts that a reset may take the whole card until the host reboots. */
    lost_by_reset: isStated.optional(),
    /** Parts of the card that take images of their own: a shell, or firmware. */
    components: cardComponents.optional(),
    /** The functions are units of a pool, which is offered as one device; see pools.ts. */
    pool: poolName.optional(),
  })
  .refine(
    ({ pool, components }) => !(pool && components),
    'must have no components in a pool, because a program takes a whole device',
  )
  .refine(
    ({ vendor_id, product_id, address, class: classCode }) =>
      /[0-9a-f]/.test(`${vendor_id ?? ''}${product_id ?? ''}${address ?? ''}${classCode ?? ''}`),
    'must narrow vendor_id, product_id, address or class, or every device of the host would match',
  );

/** One entry or a list of entries, as in Cyborg. */
export const pciAllowList = z.preprocess(
  (input) => (input === undefined || Array.isArray(input) ? input : [input]),
  z.array(allowListEntry, 'must say which devices driver pci may offer').max(256),
);
export type AllowListEntry = z.infer<typeof allowListEntry>;

/**
 * @param physical the physical function of a virtual function: as in Nova, an entry with its
 *   address also matches its virtual functions
 */
export function matches(
  entry: AllowListEntry,
  candidate: PciFunction,
  physical: PciFunction = candidate,
): boolean {
  return (
    isAny(entry.vendor_id, candidate.vendorId) &&
    isAny(entry.product_id, candidate.productId) &&
    (entry.class === undefined || candidate.classCode.startsWith(entry.class)) &&
    (entry.address === undefined ||
      matchesAddress(entry.address, candidate.address) ||
      matchesAddress(entry.address, physical.address))
  );
}

/** Whether the entry says which model it is for, and not only where that is. */
export function namesIds({ vendor_id: vendor = '*', product_id: product = '*' }: AllowListEntry) {
  return vendor !== '*' && product !== '*';
}

function isAny(pattern: string | undefined, value: string): boolean {
  return pattern === undefined || pattern === '*' || pattern === value;
}

function matchesAddress(pattern: string, address: string): boolean {
  const [givenSlot = '', givenFunction] = pattern.split('.');
  const [slot = '', fn = ''] = address.split('.');
  const patterns = givenSlot.split(':').reverse();
  const parts = slot.split(':').reverse();
  return (
    parts.every((part, index) => isSameNumber(patterns[index], part)) &&
    isSameNumber(givenFunction, fn)
  );
}

function isSameNumber(pattern: string | undefined, digits: string): boolean {
  if (pattern === undefined || pattern === '' || pattern === '*') return true;
  return Number.parseInt(pattern, 16) === Number.parseInt(digits, 16);
}
