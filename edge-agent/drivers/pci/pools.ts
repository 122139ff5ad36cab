// Pools: functions of several cards that are offered as one device. The claim chooses which units
// a server gets, such that they belong together. What VFIO or the operator ties together is a
// set, of which a server gets all or nothing. Pure.

import * as z from 'zod';
import type { PciFunction } from '#agent/sysfs/pci.ts';
import { parsePciAddress, printPciAddress } from '#agent/sysfs/pci-address.ts';
import type { ReportedHandle } from '#core/contracts/attach-handle.ts';
import type { AllowListEntry } from './allow-list.ts';
import type { Wish } from './choice.ts';
import { type PartitionedSet, partition } from './partitions.ts';

type Locality = NonNullable<ReportedHandle['locality']>;

const addressIs = 'must be a PCI address, such as "0000:3b:00.0"';
const memberAddress = z
  .string(addressIs)
  .refine((text) => parsePciAddress(text) !== undefined, addressIs)
  .transform((text) => printPciAddress(parsePciAddress(text) as never));

const nameIs = 'must be at most 16 lower case letters, digits and "-", such as "hgx0"';
export const poolName = z.string(nameIs).regex(/^[a-z][a-z0-9-]{0,15}$/, nameIs);

const namedFunctions = z.strictObject({
  /** Addresses of functions that a server gets together. */
  functions: z.array(memberAddress, 'must list addresses').min(2, 'must name two functions'),
  /** The NVLink partition that is active while a server has the set. */
  partition: partition.optional(),
});
const namedSetForm = z.preprocess(
  (input) => (Array.isArray(input) ? { functions: input } : input),
  namedFunctions,
);

const places = ['host', 'numa', 'root', 'switch'] as const;

export const pciPool = z.strictObject({
  name: poolName,
  /** The pool is divided into one for each such place. */
  by: z.enum(places, `must be one of ${places.join(', ')}`).default('host'),
  sets: z
    .array(namedSetForm)
    .max(64)
    .default([])
    .refine(
      (sets) => isWithoutTwins(sets.flatMap(({ functions }) => functions)),
      'must not name a function twice',
    ),
});
export type PciPool = z.infer<typeof pciPool>;

export const pciPools = z
  .array(pciPool, 'must list pools')
  .max(64)
  .default([])
  .refine((pools) => isWithoutTwins(pools.map(({ name }) => name)), 'must not name a pool twice')
  .refine((pools) => {
    const partitions = partitionedSets(pools).map((set) => set.partition);
    return (
      isWithoutTwins(partitions.map(({ id }) => id)) &&
      isWithoutTwins(partitions.flatMap(({ modules }) => modules))
    );
  }, 'must not name a partition or a module twice');

function isWithoutTwins(names: readonly unknown[]): boolean {
  return new Set(names).size === names.length;
}

export function partitionedSets(pools: readonly PciPool[]): PartitionedSet[] {
  return pools.flatMap(({ sets }) =>
    sets.flatMap((set) => (set.partition ? [{ ...set, partition: set.partition }] : [])),
  );
}

/** A function of a pool, and where it is. */
export interface Member {
  readonly fn: PciFunction;
  readonly entry: AllowListEntry;
  readonly locality: Locality;
}

/** What is offered as one device. */
export interface PoolDevice {
  /** In place of an address. */
  readonly name: string;
  readonly members: readonly Member[];
}

interface Pools {
  readonly devices: readonly PoolDevice[];
  /** Why members are not offered, by address. */
  readonly refusals: ReadonlyMap<string, string>;
}

/** @param refused functions that cannot be offered, with the reason */
export function composePools(
  wishes: readonly Wish[],
  pools: readonly PciPool[],
  refused: ReadonlyMap<string, string>,
  localityOf: (fn: PciFunction) => Locality,
): Pools {
  const refusals = new Map<string, string>();
  const byPool = Map.groupBy(
    wishes.filter(({ entry }) => entry.pool !== undefined),
    ({ entry }) => entry.pool as string,
  );
  const devices = [...byPool].flatMap(([name, wished]) => {
    const pool = pools.find((each) => each.name === name) ?? pciPool.parse({ name });
    const members = wished.flatMap(({ functions, entry }) =>
      functions.map((fn): Member => ({ fn, entry, locality: localityOf(fn) })),
    );
    const wholes = joinSets(members, pool);
    const offered: Member[][] = [];
    for (const whole of wholes) {
      const reason = refusalOfSet(whole, pool, refused);
      if (reason === undefined) offered.push(namedSet(whole));
      else for (const { fn } of whole) refusals.set(fn.address, refused.get(fn.address) ?? reason);
    }
    const unlike = differenceOf(offered);
    if (unlike !== undefined) {
      const reason = `is in pool ${name}, ${unlike}`;
      for (const { fn } of offered.flat()) refusals.set(fn.address, reason);
      return [];
    }
    return divide(offered, pool);
  });
  return { devices, refusals };
}

/** The functions of a set, or of an IOMMU group, which VFIO gives to one guest. */
function joinSets(members: readonly Member[], { sets }: PciPool): Member[][] {
  let wholes = members.map((member) => [member]);
  const join = (isTied: (member: Member) => boolean) => {
    const tied = wholes.filter((whole) => whole.some(isTied));
    if (tied.length > 1) wholes = [...wholes.filter((each) => !tied.includes(each)), tied.flat()];
  };
  for (const { functions } of sets) join(({ fn }) => functions.includes(fn.address));
  for (const group of new Set(members.map(({ fn }) => fn.iommuGroup))) {
    if (group !== undefined) join(({ fn }) => fn.iommuGroup === group);
  }
  return wholes.map((whole) => whole.toSorted(byAddress));
}

function byAddress({ fn: one }: Member, { fn: other }: Member): number {
  return one.address < other.address ? -1 : 1;
}

function refusalOfSet(
  whole: readonly Member[],
  pool: PciPool,
  refused: ReadonlyMap<string, string>,
): string | undefined {
  const { sets, by, name } = pool;
  const addresses = new Set(whole.map(({ fn }) => fn.address));
  const named = sets.filter(({ functions }) => functions.some((each) => addresses.has(each)));
  const missing = named
    .flatMap(({ functions }) => functions)
    .find((address) => !addresses.has(address));
  if (missing !== undefined) {
    return `belongs with ${missing}, which is not on this host, or not in pool ${name}`;
  }
  const faulty = whole.find(({ fn }) => refused.has(fn.address));
  if (faulty) {
    const reason = refused.get(faulty.fn.address) as string;
    return whole.length > 1 ? `belongs with ${faulty.fn.address}, which ${reason}` : reason;
  }
  if (whole.every(({ fn }) => isOtherBridge(fn))) {
    return 'is a bridge, which is offered in a set with other functions only';
  }
  for (const set of partitionedSets([pool])) {
    const members = whole.filter(({ fn }) => set.functions.includes(fn.address));
    const fault = members.length > 0 ? faultOfPartition(set, members) : undefined;
    if (fault !== undefined) return fault;
  }
  if (by === 'host') return undefined;
  const at = new Set(whole.map(({ locality }) => locality[by]));
  if (at.has(undefined)) return `is in a pool by ${by}, and its ${by} is not known`;
  return at.size > 1
    ? `belongs with a function of another ${by}, and its pool is by ${by}`
    : undefined;
}

/** Why the members of a set cannot have its partition. */
function faultOfPartition(
  { partition: { id, modules } }: PartitionedSet,
  members: readonly Member[],
): string | undefined {
  const set = `is in the set of partition ${id}`;
  if (members.some(({ fn }) => isOtherBridge(fn))) {
    return `${set}, which has a bridge: the Fabric Manager keeps the NVSwitches`;
  }
  // A release has nothing to do where the partition is not active, so a reset would be left out.
  if (members.some(({ entry }) => entry.clean === 'reset')) {
    return `${set}, which cannot be cleaned by reset`;
  }
  const gpus = members.filter(({ fn }) => fn.classCode.startsWith('03')).length;
  return gpus === modules.length
    ? undefined
    : `${set}, which has ${modules.length} modules and ${gpus} GPUs`;
}

/** NVSwitches, and whatever else is a bridge of no kind that forwards transactions. */
export function isOtherBridge({ classCode }: Pick<PciFunction, 'classCode'>): boolean {
  return classCode.startsWith('0680');
}

function namedSet(whole: readonly Member[]): Member[] {
  const [first] = whole;
  return whole.map((member) =>
    first && whole.length > 1
      ? { ...member, locality: { ...member.locality, set: first.fn.address } }
      : member,
  );
}

/** A server that asks for some units must not get other things than the next one. */
function differenceOf(wholes: readonly (readonly Member[])[]): string | undefined {
  const all = wholes.flat();
  const classes = new Set(all.map(({ entry }) => entry.resource_class));
  if (classes.size > 1) return `whose members have the resource classes ${[...classes].join(', ')}`;
  const models = new Set(all.map(modelOf));
  if (models.size <= 1) return undefined;
  const compositions = new Set(wholes.map((whole) => whole.map(modelOf).toSorted().join(' and ')));
  return compositions.size > 1
    ? `whose members differ: ${[...compositions].toSorted().join('; ')}`
    : undefined;
}

function modelOf({ fn }: Member): string {
  return `${fn.vendorId}:${fn.productId}`;
}

function divide(wholes: readonly (readonly Member[])[], { name, by }: PciPool): PoolDevice[] {
  const parts = Map.groupBy(wholes.flat(), ({ locality }) => (by === 'host' ? '' : locality[by]));
  return [...parts].map(([place, members]) => ({
    name: by === 'host' ? name : `${name}-${String(place).replaceAll(/[:.]/g, '')}`,
    members: members.toSorted(byAddress),
  }));
}
