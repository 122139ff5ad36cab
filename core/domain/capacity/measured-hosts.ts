// Hosts as the sweep has measured them, for questions about a whole cloud. Each range of names has
// a time of its own; where ranges overlap, the newest one counts. Pure.

import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import type { AttachHandle, Deployable } from '#core/domain/device/device.ts';
import type { HandleUuid } from '#core/domain/ids.ts';
import type { CapacityHost } from './capacity.ts';

/** All hosts whose names are after `after`, up to `upTo`. */
export interface MeasuredRange<Host extends Named = CapacityHost> {
  readonly after: string;
  readonly upTo: string;
  /** ISO 8601. */
  readonly at: string;
  readonly hosts: readonly Host[];
}

export interface Named {
  readonly hostname: string;
}

/** Before all names of hosts, and after them. */
export const firstName = '';
export const lastName = '~';

export interface MeasuredCloud<Host extends Named = CapacityHost> {
  /** When the first of them was measured; ISO 8601. */
  readonly at: string;
  /** In the order of their names. */
  readonly hosts: readonly Host[];
}

/** A measurement is renewed within an hour, unless the sweep fails. */
const measuredMsMax = 2 * 3_600_000;

/** Undefined while a part of the cloud is not measured, or was not for long. */
export function joinRanges<Host extends Named>(
  ranges: readonly MeasuredRange<Host>[],
  nowMs: number,
): MeasuredCloud<Host> | undefined {
  const oldest = new Date(nowMs - measuredMsMax).toISOString();
  const recent = ranges.filter(({ at }) => at >= oldest);
  if (!coverAll(recent)) return undefined;
  const hosts = recent.flatMap((range) => {
    const newer = recent.filter((each) => each.at > range.at && overlap(each, range));
    return newer.length === 0
      ? range.hosts
      : range.hosts.filter(({ hostname }) => !newer.some((each) => isWithin(each, hostname)));
  });
  const [at = ''] = recent.map((range) => range.at).sort();
  const byName = new Map(hosts.map((host) => [host.hostname, host]));
  return {
    at,
    hosts: [...byName.values()].sort((one, other) => (one.hostname < other.hostname ? -1 : 1)),
  };
}

function coverAll(ranges: readonly Bounds[]): boolean {
  let reached = firstName;
  for (const { after, upTo } of ranges.toSorted((one, other) =>
    one.after < other.after ? -1 : 1,
  )) {
    if (after > reached) return false;
    if (upTo > reached) reached = upTo;
  }
  return reached === lastName;
}

type Bounds = Pick<MeasuredRange, 'after' | 'upTo'>;

const overlap = (one: Bounds, other: Bounds) => one.after < other.upTo && other.after < one.upTo;

const isWithin = ({ after, upTo }: Bounds, name: string) => name > after && name <= upTo;

/** What providers have in common that give the same capacity: a cloud has few kinds. */
export interface ProviderKind {
  readonly deployable: Deployable;
  /** Equal ones are counted, in an order of their own. */
  readonly handles: readonly (readonly [count: number, handle: AttachHandle])[];
}

/** Without names, times and places, on which no capacity depends. */
export function kindOf({ deployable, handles }: StoredProvider): ProviderKind {
  const { addedAttributes: _, program: __, programs, updatedAt: ___, ...described } = deployable;
  const equal = Map.groupBy(handles.map(bareHandle), (handle) => JSON.stringify(handle));
  return {
    deployable: {
      ...described,
      ...nameless,
      ...(programs && { programs: programs.map(({ state }) => ({ state })) }),
    } as unknown as Deployable,
    handles: [...equal.entries()]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .flatMap(([, [handle, ...others]]) => (handle ? [[others.length + 1, handle]] : [])),
  };
}

/** A provider of the kind. Its handles have numbers as uuids: no two units are the same. */
export function providerOf({ deployable, handles }: ProviderKind): StoredProvider {
  const all = handles.flatMap(([count, handle]) => new Array<AttachHandle>(count).fill(handle));
  return {
    deployable,
    handles: all.map((handle, index) => ({ ...handle, uuid: String(index) as HandleUuid })),
  };
}

const nameless = {
  uuid: '',
  providerUuid: '',
  deviceUuid: '',
  parentProviderUuid: undefined,
  hostname: '',
  name: '',
  createdAt: '',
} as const;

/** A state that is set, whenever and by whom it was. */
const isSet = '-';

function bareHandle(handle: AttachHandle): AttachHandle {
  const { lastCleaning: _, lastChange: __, quarantinedAt: ___, ...described } = handle;
  const { release, quarantine, restoredAt, claim } = handle;
  return {
    ...described,
    uuid: '',
    providerUuid: '',
    info: {},
    epoch: 0,
    ...(release !== undefined && { release: isSet }),
    ...(quarantine !== undefined && { quarantine: isSet }),
    ...(restoredAt !== undefined && { restoredAt: isSet }),
    ...(claim && { claim: { arqUuid: isSet, instanceUuid: isSet } }),
  } as unknown as AttachHandle;
}
