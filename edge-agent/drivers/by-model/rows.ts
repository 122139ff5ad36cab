// A row of a table of models: which PCI functions are the model, and how it is offered. The
// agent's own rows and those of an operator have the same form.

import * as z from 'zod';
import { allowListEntry, classPrefix, hexadecimal } from '#agent/drivers/pci/allow-list.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { attributeKey } from '#core/shapes/device.ts';

const { resource_class, traits, clean } = allowListEntry.shape;

/** Functions that do not answer have all ones; zeros are in no function. */
const id = hexadecimal(
  /^(?!0000|ffff)[0-9a-f]{4}$/,
  'four hexadecimal digits, not 0000, ffff or "*", or other devices would match',
);

const nameIs = 'must be 1 to 64 letters, digits, spaces, ".", "_" and "-", a letter or digit first';
const attributesAre =
  'must be texts by name; names are lower case, and not those that the driver or Cyborg has';

/** The driver itself reports the model and the kind of function. */
function isFree(name: string): boolean {
  return attributeKey.safeParse(name).success && !['model', 'function'].includes(name);
}

export const modelRow = z.strictObject({
  /** The model, as settings and the API name it. */
  name: z.string(nameIs).regex(/^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$/, nameIs),
  vendor_id: id,
  product_ids: z
    .array(id, 'must list product ids, or every device of the vendor would match')
    .min(1, 'must list product ids, or every device of the vendor would match')
    .max(64),
  class: classPrefix
    .refine(
      (value) => !value.startsWith('06'),
      'must not begin with 06: a bridge is never given to a guest',
    )
    .optional(),
  /** A virtual function is an accelerator of its card, which stays with the host. */
  function: z.enum(['physical', 'virtual'], 'must be physical or virtual').default('physical'),
  resource_class: resource_class.unwrap(),
  /** Documented spellings; the driver adds those of the model and of the product id. */
  traits: traits.unwrap().max(16).default([]),
  /** What the agent does after each guest. */
  clean: clean.unwrap().default('reset'),
  attributes: z
    .record(z.string(), z.string(attributesAre).min(1, attributesAre).max(255), attributesAre)
    .refine((value) => Object.keys(value).every(isFree), attributesAre)
    .refine((value) => Object.keys(value).length <= 16, 'must be at most 16')
    .default({}),
  /** Where the ids are published. */
  source: z.string().max(255).optional(),
});

export type ModelRow = z.infer<typeof modelRow>;
/** A row as the table or an operator writes it. */
export type GivenRow = z.input<typeof modelRow>;

/** The models that one driver knows. */
export interface ModelTable {
  /** The driver's name, which is the key of its settings. */
  readonly driver: string;
  readonly type: ReportedDevice['type'];
  readonly rows: readonly GivenRow[];
}

/** `19e5:d100`, for each product id. */
export function modelIds({ vendor_id: vendor, product_ids: products }: ModelRow): string[] {
  return products.map((product) => `${vendor}:${product}`);
}
