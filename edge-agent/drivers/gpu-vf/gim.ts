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
  } = card.given.profile;
  const [other] = Object.keys(others);
  if (other !== undefined) return `takes no ${other}: gim shares its cards by partitions`;
  const names = context.sysfs.list(card.fn.path) ?? [];
  const values: ShareValue[] = [];
  for (const [key, file, wanted] of [
    ['memory_partition', 'memory_partition_mode', memory],
    ['accelerator_partition', 'accelerator_partition_profile', accelerator],
  ] as const) {
    if (wanted === undefined) continue;
    if (!names.includes(file)) return `takes no ${key}: its gim has no ${file}`;
    values.push(partition(context, card, { key, file, wanted }));
  }
  return values;
}

interface Partition {
  readonly key: 'memory_partition' | 'accelerator_partition';
  readonly file: string;
  readonly wanted: string;
}

function partition(
  { hardware, clock }: DriverContext,
  { fn: { address, path } }: GpuCard,
  { key, file, wanted }: Partition,
): ShareValue {
  const isMemory = key === 'memory_partition';
  const read = async () => {
    const text = await hardware.readText(address, `${path}/${file}`);
    const found = isMemory ? memoryOf(text) : acceleratorOf(text);
    if (found === undefined) throw new Error(`${file} names no partition`);
    return found;
  };
  return {
    key,
    wanted,
    isLive: false,
    read,
    write: async () => {
      const config = `${path}/accelerator_partition_profile_config`;
      const text = isMemory ? wanted : indexOf(await hardware.readText(address, config), wanted);
      if (text === undefined) throw new Error(`the card has no partition ${wanted}`);
      await hardware.writeText(address, `${path}/${file}`, `${text}\n`);
      const until = clock.monotonicMs() + partitionMs;
      while ((await read().catch(() => undefined)) !== wanted) {
        if (clock.monotonicMs() > until) throw new Error(`gim has not applied ${wanted}`);
        await clock.sleep(pollMs);
      }
    },
  };
}

/** Pure. `memory_partition_mode: NPS1`, with further lines. */
export function memoryOf(text: string): string | undefined {
  return /^memory_partition_mode: (NPS[1248])$/m.exec(text)?.[1];
}

/** Pure. The second column below a header: `0  SPX  1  5  [[0 1 2 3 4 ]]`. */
export function acceleratorOf(text: string): string | undefined {
  return /^\d+\s+([SDQC]PX)\s+\d+\s/m.exec(text)?.[1];
}

/** Pure. The index of the profile of that type, in the list below `profiles:`. */
export function indexOf(text: string, type: string): string | undefined {
  const [, profiles = ''] = text.split(/^profiles:$/m);
  for (const line of profiles.split('\n')) {
    const [, index, found] = /^(\d{1,3})\s+([SDQC]PX)\s+\d+\s/.exec(line) ?? [];
    if (found === type) return index;
  }
  return undefined;
}
