// The functions that the agent offers, kept over restarts: a guest may have them open, which is no
// use by the host. A function that is no longer offered leaves the list as soon as no process has
// it open, so that another service can take it.

import * as z from 'zod';
import { type Log, reasonOf } from '#agent/log.ts';
import type { StateFiles } from '#agent/state/state-files.ts';

const file = 'offered.json';
const form = z.object({
  version: z.literal(1),
  drivers: z.record(z.string(), z.array(z.string())),
});

export interface OfferedBefore {
  functionsOf(driver: string): ReadonlySet<string>;
  /** Whether any driver offers it. */
  has(address: string): boolean;
  /** Resolves when it is on disk: before the report that offers the functions. */
  replace(driver: string, addresses: readonly string[]): Promise<void>;
}

export async function openOfferedBefore(files: StateFiles, log: Log): Promise<OfferedBefore> {
  const functions = new Map(Object.entries(await load(files, log)));
  return {
    functionsOf: (driver) => new Set(functions.get(driver)),
    has: (address) => [...functions.values()].some((each) => each.includes(address)),
    replace: async (driver, addresses) => {
      const sorted = [...addresses].sort();
      const before = functions.get(driver) ?? [];
      const isSame = sorted.every((address, index) => address === before[index]);
      if (isSame && sorted.length === before.length) return;
      const drivers = Object.fromEntries([...functions, [driver, sorted]]);
      await files.replace(file, JSON.stringify({ version: 1, drivers }));
      functions.set(driver, sorted);
    },
  };
}

async function load(files: StateFiles, log: Log): Promise<Record<string, readonly string[]>> {
  const text = await files.read(file);
  if (text === undefined) return {};
  try {
    return form.parse(JSON.parse(text)).drivers;
  } catch (error) {
    // Devices in use by guests are then refused until the guests end; none is given twice.
    const kept = await files.keepAside(file);
    log.warn('List of offered functions unreadable', { kept, reason: reasonOf(error) });
    return {};
  }
}
