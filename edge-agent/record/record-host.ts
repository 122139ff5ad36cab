// Reads a host for a record. It changes nothing, and reads no attribute that asks the hardware.

import { readResets } from '#agent/guards/host-facts.ts';
import { findOwner, findParents } from '#agent/guards/owner.ts';
import type { Proc } from '#agent/guards/proc.ts';
import { readMounts, readSwaps } from '#agent/guards/uses/block-uses.ts';
import { findUpper, readRoutes } from '#agent/guards/uses/network-uses.ts';
import { type PciFunction, readIfReadable, readPciFunctions } from '#agent/sysfs/pci.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { HostRecord, RecordedFunction, ValueName } from './host-record.ts';

const classes = ['net', 'drm', 'accel', 'graphics', 'nvme', 'block', 'infiniband'] as const;

export function recordHost(sysfs: Sysfs, proc: Proc): HostRecord {
  const entries = entriesOf(sysfs);
  const functions = readPciFunctions(sysfs, () => {}).map((fn) =>
    recordFunction(sysfs, fn, entries.get(fn.address) ?? {}),
  );
  const networks = new Set(functions.flatMap(({ values }) => values.net?.split(',') ?? []));
  const blocks = new Set(functions.flatMap(({ values }) => values.block?.split(',') ?? []));
  return {
    functions,
    masters: record(networks, (name) => findUpper(sysfs, name)),
    routes: routesOf(proc, networks),
    mounts: mountsOf(sysfs, proc, blocks),
    holders: record(blocks, (name) => sysfs.list(`class/block/${name}/holders`)?.[0]),
  };
}

/** Address → class → the names of its entries there. */
function entriesOf(sysfs: Sysfs) {
  const entries = new Map<string, Partial<Record<ValueName, string>>>();
  for (const name of classes) {
    for (const entry of sysfs.list(`class/${name}`) ?? []) {
      const address = findOwner(sysfs, `class/${name}/${entry}`);
      if (address === undefined || !/^[A-Za-z0-9_.:@-]+$/.test(entry)) continue;
      // A connector, such as card0-DP-1: a laptop has ten.
      if (name === 'drm' && entry.includes('-')) continue;
      const stored = entries.get(address) ?? {};
      const others = stored[name];
      entries.set(address, { ...stored, [name]: others ? `${others},${entry}` : entry });
    }
  }
  return entries;
}

function recordFunction(
  sysfs: Sysfs,
  fn: PciFunction,
  entries: Partial<Record<ValueName, string>>,
): RecordedFunction {
  const { address, path, vendorId, productId, subsystemId, classCode } = fn;
  const read = (name: string) => readIfReadable(sysfs, `${path}/${name}`);
  const types = sysfs.list(`${path}/mdev_supported_types`) ?? [];
  return {
    address,
    ids: `${vendorId}:${productId}`,
    classCode,
    values: present({
      rev: read('revision')?.replace('0x', ''),
      subsystem: subsystemId === '0000:0000' ? undefined : subsystemId,
      driver: fn.boundDriver,
      group: fn.iommuGroup ?? 'none',
      node: read('numa_node'),
      below: findParents(sysfs, path).at(-1),
      physical: fn.physicalFunction,
      vfs: read('sriov_totalvfs'),
      'vf-product': read('sriov_vf_device'),
      resets: readResets(sysfs, fn).trim().replaceAll(' ', ',') || 'none',
      'boot-vga': read('boot_vga') === '1' ? '1' : undefined,
      ...entries,
      'mdev-types': types.join(',') || undefined,
    }),
  };
}

function record(names: Iterable<string>, read: (name: string) => string | undefined) {
  const pairs = [...names].sort().map((name) => [name, read(name)] as const);
  return Object.fromEntries(pairs.flatMap(([name, value]) => (value ? [[name, value]] : [])));
}

function routesOf(proc: Proc, networks: ReadonlySet<string>): HostRecord['routes'] {
  const { defaults, addressed } = readRoutes(proc);
  const used = [...networks].filter((name) => defaults.has(name) || addressed.has(name));
  return Object.fromEntries(
    used.map((name) => [name, defaults.has(name) ? 'default' : 'address'] as const),
  );
}

function mountsOf(sysfs: Sysfs, proc: Proc, blocks: ReadonlySet<string>): Record<string, string> {
  const mounts: Record<string, string> = {};
  for (const { block, at } of readMounts(sysfs, blocks, [proc.read('self/mountinfo') ?? ''])) {
    if (mounts[block] !== '/') mounts[block] = at === '/' ? '/' : 'elsewhere';
  }
  for (const block of readSwaps(proc) ?? []) if (blocks.has(block)) mounts[block] = 'swap';
  return mounts;
}
