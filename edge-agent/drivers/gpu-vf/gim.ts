// Partitions of AMD's cards under their driver for hosts, gim: AMD, MxGPU-Virtualization,
// gim_shim/sysfs/gim_monitor.c. Its files report success when it refuses a change, and it applies
// one by a reset of the card and of all cards linked with it, so that each is read until it holds.
//
// The file `reset_gpu` beside them resets the card when it is read: nothing may read all files.

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { GpuCard, ShareValue } from './shares.ts';

/** The reset of eight linked cards. */
const partitionMs = 120_000;
const pollMs = 1_000;

export function gimShares(context: DriverContext, card: GpuCard): readonly ShareValue[] | string {
  const {
    memory_partition: memory,
    accelerator_partition: accelerator,
    ...others
  } = card.settings.profile;
  const [other] = Object.keys(others);
  if (other !== undefined) return `takes no ${other}: gim shares its cards by partitions`;
  const names = context.sysfs.list(card.fn.path) ?? [];
  const values: ShareValue[] = [];
  for (const [key, file, expected] of [
    ['memory_partition', 'memory_partition_mode', memory],
    ['accelerator_partition', 'accelerator_partition_profile', accelerator],
  ] as const) {
    if (expected === undefined) continue;
    if (!names.includes(file)) return `takes no ${key}: its gim has no ${file}`;
    values.push(partition(context, card, { key, file, expected }));
  }
  return values;
}

interface Partition {
  readonly key: 'memory_partition' | 'accelerator_partition';
  readonly file: string;
  readonly expected: string;
}

function partition(
  { hardware, clock }: DriverContext,
  { fn: { address, path } }: GpuCard,
  { key, file, expected }: Partition,
): ShareValue {
  const isMemory = key === 'memory_partition';
  const read = async () => {
    const text = await hardware.readText(address, `${path}/${file}`);
    const mode = isMemory ? parseMemory(text) : parseAccelerator(text);
    if (mode === undefined) throw new Error(`${file} names no partition`);
    return mode;
  };
  return {
    key,
    expected,
    isLive: false,
    read,
    write: async () => {
      const config = `${path}/accelerator_partition_profile_config`;
      const text = isMemory
        ? expected
        : findIndex(await hardware.readText(address, config), expected);
      if (text === undefined) throw new Error(`the card has no partition ${expected}`);
      await hardware.writeText(address, `${path}/${file}`, `${text}\n`);
      const until = clock.monotonicMs() + partitionMs;
      while ((await read().catch(() => undefined)) !== expected) {
        if (clock.monotonicMs() > until) throw new Error(`gim has not applied ${expected}`);
        await clock.sleep(pollMs);
      }
    },
  };
}

/** Pure. `memory_partition_mode: NPS1`, with further lines. */
export function parseMemory(text: string): string | undefined {
  return /^memory_partition_mode: (NPS[1248])$/m.exec(text)?.[1];
}

/** Pure. The second column below a header: `0  SPX  1  5  [[0 1 2 3 4 ]]`. */
export function parseAccelerator(text: string): string | undefined {
  return /^\d+\s+([SDQC]PX)\s+\d+\s/m.exec(text)?.[1];
}

/** Pure. The index of the profile of that type, in the list below `profiles:`. */
export function findIndex(text: string, type: string): string | undefined {
  const [, profiles = ''] = text.split(/^profiles:$/m);
  for (const line of profiles.split('\n')) {
    const [, index, profile] = /^(\d{1,3})\s+([SDQC]PX)\s+\d+\s/.exec(line) ?? [];
    if (profile === type) return index;
  }
  return undefined;
}
