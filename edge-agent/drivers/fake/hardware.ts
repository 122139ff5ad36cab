// The simulated hardware of the fake drivers: a small file that outlives the agent, as hardware
// does, and is empty after a boot; and the faults that a test injects.

import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';
import { openStateFiles } from '#agent/state/state-files.ts';

/** Operations that can be made to fail or to be slow. */
type Operation = 'discover' | 'program' | 'activate' | 'prepare' | 'clean';

const faults = z.object({
  /** Whether all of it is out of its slots. */
  unplugged: z.boolean().default(false),
  /** The types of mdevs that the operator leaves on the card; by default all. */
  types: z.array(z.string()).optional(),
  /** Operation → error code, such as `ENOSPC`. */
  fail: z.record(z.string(), z.string()).default({}),
  /** Operation → delay before the change takes effect. */
  delayMs: z.record(z.string(), z.number()).default({}),
  /** Operation → delay after the change has taken effect. */
  lingerMs: z.record(z.string(), z.number()).default({}),
});

interface FakeHardware<State> {
  read(): State;
  /** Whether the hardware is in its slot. */
  isPresent(): boolean;
  /** Whether the card is divided into mdevs of the type, beside those that exist. */
  offersType(type: string): boolean;
  /**
   * Runs one operation: waits, fails if a fault is set, changes the state, waits. `change` throws
   * to refuse.
   * @param meanwhile the state of the hardware until the change is complete
   */
  operate(
    operation: Operation,
    change: (before: State) => State,
    meanwhile?: (before: State) => State,
  ): Promise<void>;
  /** Fails or waits, without a change. */
  touch(operation: Operation): Promise<void>;
}

export interface FakeHardwareDeps {
  /** The folder also holds `faults.json`, and during a delay `waits.json` names the operation. */
  readonly directory: string;
  readonly bootId: string;
}

export function openFakeHardware<State>(
  { directory, bootId }: FakeHardwareDeps,
  name: string,
  form: z.ZodType<State>,
  empty: State,
): FakeHardware<State> {
  const files = openStateFiles(directory);
  const file = join(directory, `${name}.json`);
  const stored = z.object({ boot_id: z.string(), state: form, writes: z.number() });
  const nothing = { boot_id: bootId, state: empty, writes: 0 };

  const load = (): z.infer<typeof stored> => {
    const loaded = stored.safeParse(readJson(file));
    return loaded.success && loaded.data.boot_id === bootId ? loaded.data : nothing;
  };
  const write = async (change: (before: State) => State) => {
    // Loaded after the wait, so that the change applies to the current state.
    const before = load();
    const after = { ...before, state: change(before.state), writes: before.writes + 1 };
    await files.replace(`${name}.json`, JSON.stringify(after));
  };
  const faultsNow = () => faults.catch(faults.parse({})).parse(readJson(faultsFile));
  const faultsFile = join(directory, 'faults.json');

  const isPresent = () => !faultsNow().unplugged;
  const touch = async (operation: Operation) => {
    const { delayMs, fail } = faultsNow();
    const waitMs = delayMs[operation] ?? 0;
    if (waitMs > 0) {
      await files.replace('waits.json', JSON.stringify({ operation }));
      await delay(waitMs);
      rmSync(join(directory, 'waits.json'));
    }
    const code = isPresent() ? fail[operation] : 'ENODEV';
    if (code) throw toError(code, operation);
  };
  return {
    read: () => load().state,
    isPresent,
    offersType: (type) => faultsNow().types?.includes(type) ?? true,
    touch,
    operate: async (operation, change, meanwhile) => {
      // A change that is refused is refused before anything is touched.
      change(load().state);
      if (!isPresent()) throw toError('ENODEV', operation);
      if (meanwhile) await write(meanwhile);
      await touch(operation);
      await write(change);
      await delay(faultsNow().lingerMs[operation] ?? 0);
    },
  };
}

export function toError(code: string, operation: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: ${operation}`), { code });
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
