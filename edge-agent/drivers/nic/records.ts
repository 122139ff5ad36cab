// What physical functions held of their virtual ones before the agent first offered these: what a
// cleaning brings back. Kept on disk over restarts and boots.

import * as z from 'zod';
import { openStateFiles } from '#agent/state/state-files.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import { type FunctionSettings, functionSettings } from './function.ts';

const file = 'functions.json';
const form = z.record(
  z.string(),
  z.object({ card: z.string(), ids: z.string(), settings: functionSettings }),
);
type Known = z.infer<typeof form>;

export interface Records {
  /** @param ids of the card: another card in the slot has other functions */
  get(address: string, ids: string): Promise<FunctionSettings | undefined>;
  /** Resolves when it is on disk: before the functions are offered. */
  keep(card: string, ids: string, functions: ReadonlyMap<string, FunctionSettings>): Promise<void>;
  /** Forgets functions that are about to be made anew, and cards that are no longer offered. */
  keepOnly(isKept: (card: string) => boolean): Promise<void>;
}

export function openRecords(directory: string): Records {
  const files = openStateFiles(directory);
  let cached: Promise<Known> | undefined;
  const read = () => {
    cached ??= files.read(file).then(parseRecords);
    return cached;
  };
  const replace = async (next: Known) => {
    await files.replace(file, JSON.stringify(next));
    cached = Promise.resolve(next);
  };
  return {
    get: async (address, ids) => {
      const record = (await read())[address];
      return record?.ids === ids ? record.settings : undefined;
    },
    keep: async (card, ids, functions) => {
      if (functions.size === 0) return;
      const added = [...functions].map(([address, settings]) => [address, { card, ids, settings }]);
      await replace({ ...(await read()), ...Object.fromEntries(added) });
    },
    keepOnly: async (isKept) => {
      const all = Object.entries(await read());
      const kept = all.filter(([, { card }]) => isKept(card));
      if (kept.length < all.length) await replace(Object.fromEntries(kept));
    },
  };
}

/** A file that is not valid is as none: cleanings then bring back what the kernel gives. */
function parseRecords(text: string | undefined): Known {
  return form.safeParse(parseJson(text)).data ?? {};
}
