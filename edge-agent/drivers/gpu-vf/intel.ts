// Shares of Intel's virtual functions. Driver xe: Linux Documentation/ABI/testing/
// sysfs-driver-intel-xe-sriov, since 6.19, and since 7.0 the memory. Intel's i915 outside of the
// kernel: intel-gpu-i915-backports, gt/iov/intel_iov_sysfs.c, below `prelim_iov`.

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { Profile } from './settings.ts';
import type { GpuCard, ShareValue } from './shares.ts';

const mebibyte = 1024 * 1024;

/** A key of profiles, and the file that has it. */
interface Known {
  readonly key: keyof Profile;
  readonly file: string;
  /** Of the file's unit. */
  readonly factor?: number;
  readonly isLive?: boolean;
}

const scheduling: readonly Known[] = [
  { key: 'exec_quantum_ms', file: 'exec_quantum_ms', isLive: true },
  { key: 'preempt_timeout_us', file: 'preempt_timeout_us', isLive: true },
];

/** The kernel's driver xe shares the other resources fairly, and has no file for them. */
export function xeShares(context: DriverContext, card: GpuCard): readonly ShareValue[] | string {
  const folder = `${card.fn.path}/sriov_admin`;
  const known: readonly Known[] = [
    { key: 'vram_mib', file: 'vram_quota', factor: mebibyte },
    ...scheduling,
  ];
  const { sched_priority: wanted, ...profile } = card.given.profile;
  const rest = { ...card, given: { ...card.given, profile } };
  const values = valuesOf(context, rest, known, (number) => `${folder}/vf${number}/profile`);
  if (typeof values === 'string' || wanted === undefined) return values;
  const { hardware } = context;
  const { address } = card.fn;
  const priority: ShareValue = {
    key: 'sched_priority',
    wanted,
    isLive: true,
    // One write is for all functions, and each of them shows it: `[low] normal`.
    read: async () => {
      const text = await hardware.readText(address, `${folder}/vf1/profile/sched_priority`);
      const [, active] = /\[(low|normal|high)\]/.exec(text) ?? [];
      if (active === undefined) throw new Error('the kernel marks none');
      return active;
    },
    write: (text) =>
      hardware.writeText(address, `${folder}/.bulk_profile/sched_priority`, `${text}\n`),
  };
  return [...values, priority];
}

const quotas: readonly Known[] = [
  { key: 'vram_mib', file: 'lmem_quota', factor: mebibyte },
  { key: 'ggtt_mib', file: 'ggtt_quota', factor: mebibyte },
  { key: 'contexts', file: 'contexts_quota' },
  { key: 'doorbells', file: 'doorbells_quota' },
];

export function i915Shares(context: DriverContext, card: GpuCard): readonly ShareValue[] | string {
  const { sysfs } = context;
  const { path } = card.fn;
  const [drm] = (sysfs.list(`${path}/drm`) ?? []).filter((name) => /^card\d{1,4}$/.test(name));
  const folder = ['prelim_iov', 'iov']
    .map((name) => `${path}/drm/${drm}/${name}`)
    .find((each) => drm !== undefined && sysfs.list(each));
  const { profile } = card.given;
  const [asked] = Object.keys(profile);
  if (folder === undefined) {
    return asked === undefined ? [] : `takes no ${asked}: its i915 has no prelim_iov`;
  }
  const tiles = (sysfs.list(`${folder}/vf1`) ?? []).filter((name) => /^gt\d?$/.test(name)).sort();
  const [first, second] = tiles;
  if (first === undefined) return 'has no virtual functions in its prelim_iov';
  const wanted = quotas.filter(({ key }) => profile[key] !== undefined);
  if (wanted.length > 0 && second !== undefined) {
    return 'has several tiles: leave the quotas out, and its driver shares them fairly';
  }
  // A function with some quotas and without others is refused when it is made (ENODATA).
  const shown = (number: number) => sysfs.list(`${folder}/vf${number}/${first}`) ?? [];
  const missing = quotas.find(
    ({ key, file }) => profile[key] === undefined && shown(1).includes(file),
  );
  if (wanted.length > 0 && missing) {
    return `needs ${missing.key} in its profile: i915 takes all quotas, or none`;
  }
  const all: ShareValue[] = [];
  for (const tile of tiles) {
    const known = second === undefined ? [...quotas, ...scheduling] : scheduling;
    const values = valuesOf(context, card, known, (number) => `${folder}/vf${number}/${tile}`);
    if (typeof values === 'string') return values;
    all.push(...values);
  }
  return all;
}

/** Values of each function that the profile names; the memory also where it does not. */
function valuesOf(
  { sysfs, hardware }: DriverContext,
  { fn, given }: GpuCard,
  known: readonly Known[],
  folderOf: (number: number) => string,
): readonly ShareValue[] | string {
  const { profile, virtual_functions: count } = given;
  const files = sysfs.list(folderOf(1)) ?? [];
  const values: ShareValue[] = [];
  for (const { key, file, factor = 1, isLive = false } of known) {
    const asked = profile[key];
    if (asked !== undefined && !files.includes(file)) return `takes no ${key}: it has no ${file}`;
    if (asked === undefined && (key !== 'vram_mib' || !files.includes(file))) continue;
    for (let number = 1; number <= count; number += 1) {
      const path = `${folderOf(number)}/${file}`;
      values.push({
        key,
        number,
        isLive,
        ...(asked !== undefined && { wanted: String(Number(asked) * factor) }),
        read: async () => {
          const text = await hardware.readText(fn.address, path);
          if (!/^\d{1,19}$/.test(text)) throw new Error(`${file} is not a number`);
          return text;
        },
        write: (text) => hardware.writeText(fn.address, path, `${text}\n`),
      });
    }
  }
  const other = unknownKey(profile, known);
  return other === undefined ? values : `takes no ${other}: ${fn.boundDriver} has no file for it`;
}

function unknownKey(profile: Profile, known: readonly Known[]): string | undefined {
  const names = new Set<string>(known.map(({ key }) => key));
  return Object.keys(profile).find((key) => !names.has(key));
}
