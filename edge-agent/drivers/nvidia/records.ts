// What driver nvidia_gpu keeps of virtual functions with a type: what it has set on them, and as
// what they were offered.

import * as z from 'zod';
import { parseJson } from '#core/shapes/derive/parse-json.ts';

export const recordName = 'vgpu-types.json';
const texts = z.record(z.string(), z.string());
const record = z.object({
  boot_id: z.string(),
  types: texts,
  names: texts,
  offered: z.record(z.string(), z.object({ card: z.string(), type: z.string() })),
});

export interface Records {
  /** Address → what the agent has set in this boot. */
  readonly types: Map<string, string>;
  /** Keys are numbers. */
  readonly names: Map<string, string>;
  /**
   * What the function at each address was offered as: a guest may hold it, also one that is off.
   * Kept until the settings no longer name the card.
   */
  readonly offered: Map<string, { readonly card: string; readonly type: string }>;
}

/** A boot clears all types. */
export function toRecords(text: string | undefined, bootId: string): Records {
  const parsed = record.safeParse(parseJson(text));
  if (!parsed.success) return { types: new Map(), names: new Map(), offered: new Map() };
  const { boot_id: boot, types, names, offered } = parsed.data;
  return {
    types: new Map(boot === bootId ? Object.entries(types) : []),
    names: new Map(Object.entries(names)),
    offered: new Map(Object.entries(offered)),
  };
}
