// Forms that the settings of several drivers have in common.

import * as z from 'zod';
import { parsePciAddress, printPciAddress } from '#agent/sysfs/pci-address.ts';

const addressIs = 'must be a PCI address, such as "0000:3b:00.0"';

/** The address of one function, in the one form that the agent uses. */
export const pciAddress = z.string(addressIs).transform((text, context) => {
  const parsed = parsePciAddress(text);
  if (parsed) return printPciAddress(parsed);
  context.addIssue({ code: 'custom', message: addressIs });
  return z.NEVER;
});

/** Addresses, or a single one without a list. */
export function oneOrMany<Address extends z.ZodType>(address: Address, max: number) {
  return z.preprocess(
    (input) => (input === undefined || Array.isArray(input) ? input : [input]),
    z.array(address, 'must name a PCI address').min(1, 'must name a PCI address').max(max),
  );
}

const nameIs = 'must be CUSTOM_ and capital letters, digits or "_"';
export const customName = z.string(nameIs).regex(/^CUSTOM_[A-Z0-9_]{1,248}$/, nameIs);

/** Beside the traits that the driver itself finds. */
export const customTraits = z.array(customName).max(32).default([]);

const vfioIs = 'must be a VFIO driver, such as vfio-pci';
/** The driver that functions are bound to, so that guests can have them; also `xe-vfio-pci`. */
export const vfioDriver = z.string(vfioIs).regex(/^[a-z0-9_-]*vfio[a-z0-9_-]*$/, vfioIs);

/** Path of a program or file that the driver uses. */
export const absolutePath = z
  .string('must be an absolute path')
  .regex(/^\/[a-zA-Z0-9_./-]{1,255}$/, 'must be an absolute path')
  .refine((input) => !input.split('/').includes('..'), 'must not go up');

/** Whether no two entries name the same card. @param card the part of an address that names it */
export function areDistinct(
  { cards }: { readonly cards: readonly { readonly addresses: readonly string[] }[] },
  card = (address: string) => address,
): boolean {
  const named = cards.flatMap(({ addresses }) => addresses).map(card);
  return new Set(named).size === named.length;
}

export const cardTwice = { path: ['cards'], message: 'must not name a card more than once' };
