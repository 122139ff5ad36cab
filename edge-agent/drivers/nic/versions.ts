// What cards have shown of their firmware: a card shows nothing while a server has it as a whole.
// Kept on disk over restarts of the agent.

import * as z from 'zod';
import { openStateFiles } from '#agent/state/state-files.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';

const file = 'versions.json';
const running = z.record(z.string(), z.string());
const form = z.record(z.string(), z.object({ ids: z.string(), running }));
type Known = z.infer<typeof form>;
/** Names are those of devlink. */
type Running = Readonly<z.infer<typeof running>>;

/** @param isNamed whether the settings name the card; others are forgotten */
export function openKnownVersions(directory: string, isNamed: (address: string) => boolean) {
  const files = openStateFiles(directory);
  let cached: Promise<Known> | undefined;
  let writing: Promise<unknown> = Promise.resolve();
  const read = () => {
    cached ??= files.read(file).then(parseKnown);
    return cached;
  };
  return {
    /** @param ids of the card: another card in the slot runs other firmware */
    get: async (address: string, ids: string): Promise<Running | undefined> => {
      const stored = (await read())[address];
      return stored?.ids === ids ? stored.running : undefined;
    },
    /** Resolves when it is on disk. */
    keep: (address: string, ids: string, shown: Running): Promise<void> => {
      const kept = writing.then(async () => {
        const before = await read();
        const entry = { ids, running: shown };
        if (JSON.stringify(before[address]) === JSON.stringify(entry)) return;
        const named = Object.entries(before).filter(([each]) => isNamed(each));
        const next = { ...Object.fromEntries(named), [address]: entry };
        await files.replace(file, JSON.stringify(next));
        cached = Promise.resolve(next);
      });
      writing = kept.catch(() => {});
      return kept;
    },
  };
}

/** A file that is not valid is as none: each card is read again on its own driver. */
function parseKnown(text: string | undefined): Known {
  return form.safeParse(parseJson(text)).data ?? {};
}
