// Compares the stored rows of a host with its report, and plans the changes. Pure: the same input
// gives the same plan.

import type { Device, DiscoveredDevice } from '#core/domain/device/device.ts';
import type { RefusedDevices, StoredHost } from '#core/domain/host/host.ts';
import { type BootReport, isReturn } from '#core/domain/host/identity.ts';
import type { AwaitedWork } from '#core/domain/host-work/host-work.ts';
import { changedRows, findOtherCards, rememberCards, withoutOthers } from './other-cards.ts';

/** The part of a report that says which devices there are. */
export interface ReportedManifest {
  readonly bootId: string;
  readonly sequence: number;
  /** When the broker got it, in ms: reports of different boots are ordered by this alone. */
  readonly receivedAtMs: number;
  /** Address → digest of every device. */
  readonly manifest: Readonly<Record<string, string>>;
  /** Drivers that failed; the devices that they reported before are kept. */
  readonly failedDrivers: readonly string[];
  /** Address → reason why the device is refused. */
  readonly refused: Readonly<Record<string, string>>;
}

export interface ReportPlan {
  /**
   * `late`: a newer report was applied; only devices that the newer one lacks are taken from
   * this. `conflict`: nothing is applied, since two agents report as this host.
   */
  readonly standing: 'newer' | 'late' | 'conflict';
  readonly isNewBoot: boolean;
  readonly put: readonly DiscoveredDevice[];
  readonly retire: readonly Device[];
  /** Devices of the newest manifest that no report has described yet: address → digest. */
  readonly wanted: Readonly<Record<string, string>>;
  /**
   * Addresses whose state is unknown in this report: their driver failed, or their description is
   * refused.
   */
  readonly unseen: readonly string[];
  readonly refused: RefusedDevices;
}

/** A boot of the host ends releases and operator programs that began before it. */
export function isEndedByBoot(work: AwaitedWork, { bootedAt }: StoredHost): boolean {
  return bootedAt !== undefined && work.startedAt < bootedAt;
}

/**
 * Plans what a report changes. Reports arrive twice, late and in any order; a large report comes
 * in parts, each with the whole manifest. A late part still adds the devices that the newest
 * manifest names with the same digest.
 */
export function planReport(
  host: StoredHost,
  stored: readonly Device[],
  report: ReportedManifest,
  described: readonly DiscoveredDevice[],
): ReportPlan {
  const standing = judgeStanding(host, report);
  if (standing === 'conflict') {
    const nothing = { put: [], retire: [], wanted: host.wanted, unseen: [], refused: host.refused };
    return { standing, isNewBoot: false, ...nothing };
  }
  const isNewBoot = host.bootId !== report.bootId;
  const isWanted = ({ address, digest }: DiscoveredDevice) => host.wanted[address] === digest;
  const usable = standing === 'newer' ? described : described.filter(isWanted);
  const others = findOtherCards(usable, stored, host.refused);
  const right = withoutOthers(usable, others);
  const refused = { ...refusedBy(host, report, right), ...others };
  const own = withoutTaken(stored, report, right, refused);
  if (standing === 'newer') {
    const plan = planNewer(stored, own);
    const changed = changedRows(plan, stored);
    const all = rememberCards(refused, host.refused, report, right, changed);
    return { standing, isNewBoot, ...plan, refused: all };
  }
  return { standing, isNewBoot: false, ...planLate(host, stored, own, others) };
}

/** Devices that are refused in this report, or were refused before under the same digest. */
function refusedBy(
  host: StoredHost,
  report: ReportedManifest,
  described: readonly DiscoveredDevice[],
): RefusedDevices {
  const isDescribed = new Set(described.map(({ address }) => address));
  const digests = new Set(Object.values(report.manifest));
  const refused = Object.entries(report.manifest).flatMap(([address, digest]) => {
    const previous = host.refused[address];
    const reason = report.refused[address];
    const isAsBefore =
      previous?.digest === digest &&
      (previous.holderDigest === undefined || digests.has(previous.holderDigest));
    const kept = isAsBefore ? previous : undefined;
    const now = reason === undefined ? kept : { digest, reason };
    return now && !isDescribed.has(address) ? [[address, now] as const] : [];
  });
  return Object.fromEntries(refused);
}

export function judgeStanding(host: StoredHost, report: BootReport): ReportPlan['standing'] {
  if (host.conflict || isReturn(host, report)) return 'conflict';
  const isNewer =
    host.bootId === report.bootId
      ? report.sequence > host.sequence
      : report.receivedAtMs > host.lastReceivedAtMs;
  return isNewer ? 'newer' : 'late';
}

/** What a host may report. */
export interface HostBounds {
  readonly devicesPerHostMax: number;
  readonly handlesPerHostMax: number;
}

/** A clause if the report names more devices than a host may have. */
export function excessOf(
  { manifest }: Pick<ReportedManifest, 'manifest'>,
  { devicesPerHostMax }: HostBounds,
): string | undefined {
  const count = Object.keys(manifest).length;
  if (count <= devicesPerHostMax) return undefined;
  return `reports ${count} devices, and ${devicesPerHostMax} are allowed: nothing of it is stored`;
}

/** The plan without any change of devices. */
export function withoutDevices(plan: ReportPlan, host: StoredHost): ReportPlan {
  const refused = Object.fromEntries(Object.entries(host.refused).filter(([, { card }]) => card));
  return { ...plan, put: [], retire: [], wanted: {}, unseen: [], refused };
}

/**
 * The plan without the devices that would exceed the largest number of attach handles per host:
 * they are refused, until they are described in another way.
 */
export function withinBounds(
  plan: ReportPlan,
  stored: readonly Device[],
  { handlesPerHostMax }: HostBounds,
): ReportPlan {
  const changed = new Set([...plan.put, ...plan.retire].map(({ address }) => address));
  const kept = stored.filter(({ address, isGone }) => !isGone && !changed.has(address));
  let handles = kept.reduce((sum, { handleCount = 0 }) => sum + handleCount, 0);
  const put: DiscoveredDevice[] = [];
  const refused = { ...plan.refused };
  for (const device of plan.put) {
    const count = countHandles(device);
    if (handles + count > handlesPerHostMax) {
      const reason = `has ${count} attach handles, and its host may have ${handlesPerHostMax}`;
      refused[device.address] = { digest: device.digest, reason, driver: device.driver };
      continue;
    }
    handles += count;
    put.push(device);
  }
  return { ...plan, put, refused };
}

export function countHandles({ offers, regions }: DiscoveredDevice): number {
  const offerings = [...(offers ? [offers] : []), ...regions];
  return offerings.reduce((sum, { attachHandles }) => sum + attachHandles.length, 0);
}

/** Whether the report changes nothing but the time of the last report. */
export function changesNothing(host: StoredHost, plan: ReportPlan): boolean {
  const { standing, isNewBoot, put, retire, wanted } = plan;
  const isAsPlanned = put.length === 0 && retire.length === 0 && Object.keys(wanted).length === 0;
  return standing === 'newer' && !isNewBoot && isAsPlanned && !host.isReprovisioning;
}

/** The report without devices that belong to another driver. */
interface OwnManifest {
  readonly described: readonly DiscoveredDevice[];
  /** Address → digest. */
  readonly named: ReadonlyMap<string, string>;
  readonly unseen: readonly string[];
}

/** A device of a failed driver is not taken over by another driver: its handles may be in use. */
function withoutTaken(
  stored: readonly Device[],
  report: ReportedManifest,
  described: readonly DiscoveredDevice[],
  refused: RefusedDevices,
): OwnManifest {
  const notLookedAt = stored.filter(({ driver }) => report.failedDrivers.includes(driver));
  const present = new Map(
    notLookedAt.filter(({ isGone }) => !isGone).map(({ address, driver }) => [address, driver]),
  );
  const taken = new Set(
    described
      .filter(({ address, driver }) => (present.get(address) ?? driver) !== driver)
      .map(({ address }) => address),
  );
  const named = new Map(
    Object.entries(report.manifest).filter(
      ([address]) => !taken.has(address) && !Object.hasOwn(refused, address),
    ),
  );
  const unseen = notLookedAt.map(({ address }) => address).filter((address) => !named.has(address));
  return {
    described: described.filter(({ address }) => !taken.has(address)),
    named,
    // Another card than before is retired: its handles are those of the card before.
    unseen: [
      ...new Set([...unseen, ...Object.keys(refused).filter((each) => !refused[each]?.card)]),
    ],
  };
}

type Changes = Omit<ReportPlan, 'standing' | 'isNewBoot' | 'refused'>;

function planNewer(stored: readonly Device[], { described, named, unseen }: OwnManifest): Changes {
  const present = stored.filter(({ isGone }) => !isGone);
  const isSeen = new Set([...named.keys(), ...unseen]);
  const digests = new Map(present.map(({ address, digest }) => [address, digest]));
  const missing = [...named].filter(([address, digest]) => digests.get(address) !== digest);
  return {
    ...putWanted(Object.fromEntries(missing), described),
    retire: present.filter(({ address }) => !isSeen.has(address)),
    unseen,
  };
}

/** @param others wanted, and described with another card than before */
function planLate(
  host: StoredHost,
  stored: readonly Device[],
  { described, unseen }: OwnManifest,
  others: RefusedDevices,
): Changes & Pick<ReportPlan, 'refused'> {
  const { put, wanted } = putWanted(host.wanted, described);
  // A unit of a pool is not wanted by itself.
  const isOther = (address: string) =>
    Object.hasOwn(others, address) && Object.hasOwn(host.wanted, address);
  const retire = stored.filter(({ address, isGone }) => !isGone && isOther(address));
  const isPut = new Set(put.map(({ address }) => address));
  const withoutCard = Object.entries(host.refused).filter(
    ([address, { card }]) => !card && !isPut.has(address),
  );
  return {
    put,
    retire,
    unseen,
    wanted: Object.fromEntries(Object.entries(wanted).filter(([address]) => !isOther(address))),
    refused: rememberCards(
      { ...Object.fromEntries(withoutCard), ...others },
      host.refused,
      { manifest: newestManifest(host, stored), failedDrivers: [] },
      put,
      changedRows({ put, retire }, stored),
    ),
  };
}

/** The manifest that was applied last, from what is stored of it. */
function newestManifest(
  { wanted, refused }: StoredHost,
  stored: readonly Device[],
): ReportedManifest['manifest'] {
  const present = stored.flatMap(({ address, digest, isGone }) =>
    isGone ? [] : [[address, digest] as const],
  );
  const named = { ...Object.fromEntries(present), ...wanted };
  const digests = new Set(['', ...Object.values(named)]);
  // With the digest of a device that is stored or wanted, it is a unit of this one.
  const alone = Object.entries(refused).flatMap(([address, { digest }]) =>
    digests.has(digest) ? [] : [[address, digest] as const],
  );
  return { ...Object.fromEntries(alone), ...named };
}

/** @param wanted address → digest; what is not described stays wanted */
function putWanted(
  wanted: Readonly<Record<string, string>>,
  described: readonly DiscoveredDevice[],
): Pick<ReportPlan, 'put' | 'wanted'> {
  const put = described.filter(({ address, digest }) => wanted[address] === digest);
  const isPut = new Set(put.map(({ address }) => address));
  const left = Object.entries(wanted).filter(([address]) => !isPut.has(address));
  return { put, wanted: Object.fromEntries(left) };
}
