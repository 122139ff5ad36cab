// Addresses and attach handles in Cyborg's texts. Pure.

import * as z from 'zod';
import { validInfo } from '#core/contracts/attach-handle.ts';
import { pciAddress } from '#core/shapes/derive/fields.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import { attachTypes } from '#core/shapes/vocabulary/words.ts';
import type { CyborgHandle } from './cyborg-tables.ts';

const texts = z.record(z.string(), z.string());
const slot = z.object({
  domain: z.string(),
  bus: z.string(),
  device: z.string(),
  function: z.string(),
});

/** The PCI address in a device's control path; undefined without one. */
export function parseAddress(cpidInfo: string): string | undefined {
  const read = slot.safeParse(parseJson(cpidInfo));
  if (!read.success) return undefined;
  const { domain, bus, device, function: fn } = read.data;
  const text = `${domain}:${bus}:${device.padStart(2, '0')}.${fn}`.toLowerCase();
  return pciAddress.safeParse(text).success ? text : undefined;
}

export interface ReadHandle {
  readonly type: (typeof attachTypes)[number];
  readonly info: Readonly<Record<string, string>>;
}

/** The handle in our form, or why it has none. */
export function parseHandle({
  uuid,
  attach_type: named,
  attach_info: text,
}: CyborgHandle): ReadHandle | string {
  const type = attachTypes.find((each) => each === named);
  if (!type) return `attach handle ${uuid} has the unknown type ${named}`;
  const info = texts.safeParse(parseJson(text.toLowerCase() === text ? text : lowered(text, type)));
  const valid = info.success ? validInfo({ type, info: info.data }) : undefined;
  return valid
    ? { type, info: valid }
    : `attach handle ${uuid} has an invalid attach_info for its type ${type}: ${text}`;
}

/** Hexadecimal digits may be in upper case; names of mdev types and networks stay as they are. */
function lowered(text: string, type: string): string {
  return type === 'MDEV' || text.includes('physical_network') ? text : text.toLowerCase();
}
