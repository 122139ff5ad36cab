// Shares of Intel's virtual functions. Driver xe: Linux Documentation/ABI/testing/
// sysfs-driver-intel-xe-sriov, since 6.19, and since 7.0 the memory. Intel's i915 outside of the
// kernel: intel-gpu-i915-backports, gt/iov/intel_iov_sysfs.c, below `prelim_iov`.

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { Profile } from './settings.ts';
import type { GpuCard, ShareValue } from './shares.ts';

const mebibyte = 1024 * 1024;

/** A key of profiles, and the file that has it. */
interface ProfileFile {
  readonly key: keyof Profile;
  readonly file: string;
  /** The file's unit in terms of the profile's. */
  readonly factor?: number;
  readonly isLive?: boolean;
}

const scheduling: readonly ProfileFile[] = [
  { key: 'exec_quantum_ms', file: 'exec_quantum_ms', isLive: true },
  { key: 'preempt_timeout_us', file: 'preempt_timeout_us', isLive: true },
];

/** The kernel's driver xe shares the other resources fairly, and has no file for them. */
export function xeShares(context: DriverContext, card: GpuCard): readonly ShareValue[] | string {
  const folder = `${card.fn.path}/sriov_admin`;
  const files: readonly ProfileFile[] = [
    { key: 'vram_mib', file: 'vram_quota', factor: mebibyte },
    ...scheduling,
  ];
  const { sched_priority: expected, ...profile } = card.settings.profile;
  const rest = { ...card, settings: { ...card.settings, profile } };
  const values = toValues(context, rest, files, (number) => `${folder}/vf${number}/profile`);
  if (typeof values === 'string' || expected === undefined) return values;
  const { hardware } = context;
  const { address } = card.fn;
  const priority: ShareValue = {
    key: 'sched_priority',
    expected,
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

const quotas: readonly ProfileFile[] = [
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
  const { profile } = card.settings;
  const [key] = Object.keys(profile);
  if (folder === undefined) {
    return key === undefined ? [] : `takes no ${key}: its i915 has no prelim_iov`;
  }
  const tiles = (sysfs.list(`${folder}/vf1`) ?? []).filter((name) => /^gt\d?$/.test(name)).sort();
  const [first, second] = tiles;
  if (first === undefined) return 'has no virtual functions in its prelim_iov';
  const named = quotas.filter(({ key }) => profile[key] !== undefined);
  if (named.length > 0 && second !== undefined) {
    return 'has several tiles: leave the quotas out, and its driver shares them fairly';
  }
  // A function with some quotas and without others is refused when it is made (ENODATA).
  const shown = (number: number) => sysfs.list(`${folder}/vf${number}/${first}`) ?? [];
  const missing = quotas.find(
    ({ key, file }) => profile[key] === undefined && shown(1).includes(file),
  );
  if (named.length > 0 && missing) {
    return `needs ${missing.key} in its profile: i915 takes all quotas, or none`;
  }
  const all: ShareValue[] = [];
  for (const tile of tiles) {
    const files = second === undefined ? [...quotas, ...scheduling] : scheduling;
    const values = toValues(context, card, files, (number) => `${folder}/vf${number}/${tile}`);
    if (typeof values === 'string') return values;
    all.push(...values);
  }
  return all;
}

/** Values of each function that the profile names; the memory also where it does not. */
function toValues(
  { sysfs, hardware }: DriverContext,
  { fn, settings }: GpuCard,
  profileFiles: readonly ProfileFile[],
  folderOf: (number: number) => string,
): readonly ShareValue[] | string {
  const { profile, virtual_functions: count } = settings;
  const files = sysfs.list(folderOf(1)) ?? [];
  const values: ShareValue[] = [];
  for (const { key, file, factor = 1, isLive = false } of profileFiles) {
    const amount = profile[key];
    if (amount !== undefined && !files.includes(file)) return `takes no ${key}: it has no ${file}`;
    if (amount === undefined && (key !== 'vram_mib' || !files.includes(file))) continue;
    for (let number = 1; number <= count; number += 1) {
      const path = `${folderOf(number)}/${file}`;
      values.push({
        key,
        number,
        isLive,
        ...(amount !== undefined && { expected: String(Number(amount) * factor) }),
        read: async () => {
          const text = await hardware.readText(fn.address, path);
          if (!/^\d{1,19}$/.test(text)) throw new Error(`${file} is not a number`);
          return text;
        },
        write: (text) => hardware.writeText(fn.address, path, `${text}\n`),
      });
    }
  }
  const other = unknownKey(profile, profileFiles);
  return other === undefined ? values : `takes no ${other}: ${fn.boundDriver} has no file for it`;
}

function unknownKey(profile: Profile, files: readonly ProfileFile[]): string | undefined {
  const names = new Set<string>(files.map(({ key }) => key));
  return Object.keys(profile).find((key) => !names.has(key));
}
