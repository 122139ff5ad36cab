// The mdevs themselves: those of driver `mdev` have uuids by which it recognizes them.

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { Found, HandleWork } from '#agent/drivers/contract/driver.ts';
import {
  type ExistingMdev,
  type MdevParent,
  readMdev,
  readMdevParents,
  typeDirectory,
} from '#agent/sysfs/mdev.ts';
import { parsePciAddress } from '#agent/sysfs/pci-address.ts';
import { mdevUuid, mdevUuidPrefix } from '#core/contracts/report/mdev-uuids.ts';

/** The most that one parent may have; the kernel says when it is full. */
const perParentMax = 256;

export interface Fill {
  /** How many of the type the agent has made on the parent. */
  readonly made: number;
  /** Uuids of those that fit beside them. */
  readonly missing: readonly string[];
}

/**
 * What a parent lacks to be full. Changes nothing.
 *
 * @param recreated uuids that a job is recreating: their room is not free
 * @throws HardwareError
 */
export async function planFill(
  context: DriverContext,
  parent: MdevParent,
  type: string,
  { existing, recreated }: MdevState,
): Promise<Fill> {
  const place = { thing: context.thing, parent: parent.address, type };
  const there = new Set(existing.map(({ uuid }) => uuid));
  const uuids = Array.from({ length: perParentMax }, (_, index) => mdevUuid(place, index));
  const absent = uuids.filter((uuid) => !there.has(uuid));
  const reserved = absent.filter((uuid) => recreated.has(uuid)).length;
  const free = (await available(context, parent, type)) - reserved;
  return {
    made: perParentMax - absent.length + reserved,
    missing: absent.filter((uuid) => !recreated.has(uuid)).slice(0, Math.max(0, free)),
  };
}

interface MdevState {
  readonly existing: readonly ExistingMdev[];
  readonly recreated: ReadonlySet<string>;
}

/** Those of the parent that exist, or are being recreated. */
export function madeAhead(
  { thing }: DriverContext,
  { address }: MdevParent,
  type: string,
  existing: readonly ExistingMdev[],
  recreated: ReadonlySet<string>,
): string[] {
  const prefix = mdevUuidPrefix({ thing, parent: address, type });
  const there = existing.flatMap((each) =>
    each.parent === address && each.type === type ? [each.uuid] : [],
  );
  return [...new Set([...there, ...recreated])].filter((uuid) => uuid.startsWith(prefix)).sort();
}

export function isMadeAhead(
  { thing }: DriverContext,
  { uuid, parent, type }: ExistingMdev,
): boolean {
  return uuid.startsWith(mdevUuidPrefix({ thing, parent, type }));
}

/** What exists under the handle's uuid. @throws Error while it is being removed */
export function find({ sysfs }: DriverContext, handle: HandleWork): Found {
  const existing = readMdev(sysfs, handle.uuid);
  if (!existing) {
    // The kernel takes it from its list at once, and removes it when no program has it open.
    const isLeaving = readMdevParents(sysfs).some(
      ({ path, physical }) =>
        physical === handle.address && sysfs.list(`${path}/${handle.uuid}`) !== undefined,
    );
    if (isLeaving) throw new Error(`EBUSY: ${handle.uuid} is open, and its removal has not ended`);
    return { state: 'absent' };
  }
  const isOnDevice =
    existing.parent === handle.address ||
    readMdevParents(sysfs).some(
      ({ address, physical }) => address === existing.parent && physical === handle.address,
    );
  if (existing.type === handle.info.asked_type && isOnDevice) {
    return { state: 'ready', info: infoOn(handle, existing.parent) };
  }
  return { state: 'other', what: `an mdev of type ${existing.type} on ${existing.parent}` };
}

/** The handle's `info` on that parent. */
export function infoOn({ info }: HandleWork, parent: string): Readonly<Record<string, string>> {
  const parsed = parsePciAddress(parent);
  return parsed ? { ...info, ...parsed } : info;
}

/** The parent that the handle's `info` names. */
export function handleParent({ address, info }: HandleWork): string {
  const { domain, bus, device, function: fn } = info;
  return domain && bus && device && fn ? `${domain}:${bus}:${device}.${fn}` : address;
}

/**
 * The most mdevs of the type that the whole card holds: each virtual function counts only itself.
 * NVIDIA's drivers have it in the description of the type.
 */
export function limitOfCard(
  { sysfs }: DriverContext,
  [first]: readonly MdevParent[],
  type: string,
): number {
  const text = first && sysfs.readAttribute(`${typeDirectory(first, type)}/description`);
  const [, count] = /\bmax_instance=(\d{1,4})\b/.exec(text ?? '') ?? [];
  return count === undefined ? Number.POSITIVE_INFINITY : Number(count);
}

/** @throws HardwareError */
export async function available(
  { hardware }: DriverContext,
  parent: MdevParent,
  type: string,
): Promise<number> {
  const text = await hardware.readText(
    parent.physical,
    `${typeDirectory(parent, type)}/available_instances`,
  );
  return Math.min(Number.parseInt(text, 10) || 0, perParentMax);
}

export async function create(
  { sysfs, hardware }: DriverContext,
  parent: string,
  type: string,
  uuid: string,
): Promise<void> {
  const owner = readMdevParents(sysfs).find(({ address }) => address === parent);
  if (!owner) throw new Error(`ENODEV: ${parent} has no mdev types`);
  await hardware.writeText(owner.physical, `${typeDirectory(owner, type)}/create`, uuid);
}

export async function remove({ sysfs, hardware }: DriverContext, { uuid, parent }: ExistingMdev) {
  const owner = readMdevParents(sysfs).find(({ address }) => address === parent);
  await hardware.writeText(owner?.physical ?? parent, `bus/mdev/devices/${uuid}/remove`, '1');
}
