// What the host's running servers have of its devices, for the report. A start of one of Nova's
// servers alone is no reason to describe a device again, which would cost a report for each one:
// a loss is, a domain that Nova has not made, and six hours.

import type { ReadDomains } from '#agent/guards/libvirt/domains.ts';
import type { Log } from '#agent/log.ts';
import {
  readServerRecords,
  type ServerRecords,
  writeServerRecords,
} from '#agent/servers/server-records.ts';
import type { StateFiles } from '#agent/state/state-files.ts';
import { listHandles, type ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { followServers, readServers } from './server-units.ts';

type Seen = NonNullable<ReportedDevice['seen_attachments']>;
type SeenUnit = Seen['units'][number];

/** A server that starts or ends has both definitions for a moment. */
const lackMs = 30_000;
/** Most servers of a test run end before. */
const attachedMs = 10 * 60_000;
const refreshMs = 6 * 3600_000;
const unitsMax = 128;

interface Mark {
  readonly address: string;
  readonly type: string;
  readonly info: Readonly<Record<string, string>>;
}

interface AttachmentsDeps {
  readonly files: StateFiles;
  readonly readDefined: ReadDomains;
  readonly readLive: ReadDomains;
  /** Handles that jobs have prepared, by their uuids. */
  readonly marks: () => Readonly<Record<string, Mark>>;
  readonly wallMs: () => number;
  readonly log: Log;
}

/** What is seen of a device, by its address. */
export type SeenOf = (address: string) => Seen | undefined;
export type LookAtServers = (devices: readonly ReportedDevice[]) => Promise<SeenOf>;

export async function openSeenAttachments(deps: AttachmentsDeps): Promise<LookAtServers> {
  const { files, readDefined, readLive, marks, wallMs, log } = deps;
  let records: ServerRecords = await readServerRecords(files, log);
  const last = new Map<string, Seen>();
  /** Address → which domains have what of the device that Nova has not made. */
  const lastOthers = new Map<string, string>();
  /** Address → when all of the device was last looked at. */
  const lookedMs = new Map<string, number>();
  const seenOf: SeenOf = (address) => last.get(address);
  return async (devices) => {
    const [defined, live] = [await readDefined(), await readLive()];
    const unknown = defined.unknown ?? live.unknown;
    // What cannot be read says nothing: neither of a loss, nor of its end.
    if (unknown !== undefined) return seenOf;
    const recorded = Object.values(records).flatMap((each) => Object.entries(each.units));
    if (defined.domains.length + live.domains.length + recorded.length === 0) {
      last.clear();
      lastOthers.clear();
      return seenOf;
    }
    const units = new Map([
      ...recorded.map(([unit, { device }]) => [unit, device] as const),
      ...unitsOf(devices, marks()),
    ]);
    const nowMs = wallMs();
    const servers = readServers({ defined: defined.domains, live: live.domains }, units);
    const before = records;
    const next = followServers(before, servers, units, nowMs);
    if (JSON.stringify(next) !== JSON.stringify(before)) {
      await writeServerRecords(files, next);
      records = next;
    }
    const running = new Set([...servers].filter(([, each]) => each.isRunning).map(([id]) => id));
    /** No device is bound to a domain that Nova has not made. */
    const isOther = (uuid: string) => servers.get(uuid)?.isOfNova === false;
    const seen = describe(records, running, nowMs);
    const moved = movedUnits(before, records);
    for (const address of new Set([...seen.keys(), ...last.keys()])) {
      const now = seen.get(address) ?? [];
      const then = last.get(address);
      const others = keysOf(now.filter((each) => isOther(each.instance_uuid)));
      const isNews =
        now.some(({ unit }) => moved.has(unit)) ||
        others !== (lastOthers.get(address) ?? '') ||
        differs(then, now);
      lastOthers.set(address, others);
      const isDue = nowMs - (lookedMs.get(address) ?? Number.NEGATIVE_INFINITY) >= refreshMs;
      if (!isNews && !isDue) continue;
      lookedMs.set(address, nowMs);
      const due = now.filter(
        ({ unit, instance_uuid: uuid, is_attached: has, since }) =>
          !has || moved.has(unit) || isOther(uuid) || nowMs - Date.parse(since) >= attachedMs,
      );
      if (due.length === 0) last.delete(address);
      else last.set(address, { at: new Date(nowMs).toISOString(), units: due.slice(0, unitsMax) });
    }
    return seenOf;
  };
}

/** The losses first. */
function describe(records: ServerRecords, running: ReadonlySet<string>, nowMs: number) {
  const seen = new Map<string, SeenUnit[]>();
  const losses: [string, SeenUnit][] = [];
  const others: [string, SeenUnit][] = [];
  for (const [uuid, { units, lacks }] of Object.entries(records)) {
    for (const [unit, { device, since }] of Object.entries(units)) {
      const lost = lacks[unit];
      const about = { unit, instance_uuid: uuid };
      if (lost === undefined) {
        if (running.has(uuid)) others.push([device, { ...about, is_attached: true, since }]);
      } else if (nowMs - Date.parse(lost) >= lackMs) {
        losses.push([device, { ...about, is_attached: false, since: lost }]);
      }
    }
  }
  for (const [device, each] of [...losses, ...others]) {
    seen.set(device, [...(seen.get(device) ?? []), each]);
  }
  return seen;
}

/** Units that have another server than before. */
function movedUnits(before: ServerRecords, after: ServerRecords): ReadonlySet<string> {
  const unitsOfAll = Object.values(before).flatMap(({ units }) => Object.keys(units));
  const had = new Set(unitsOfAll);
  const moved = Object.entries(after).flatMap(([uuid, { units }]) => {
    const earlier = Object.hasOwn(before, uuid) ? before[uuid]?.units : undefined;
    return Object.keys(units).filter((unit) => had.has(unit) && !(unit in (earlier ?? {})));
  });
  return new Set(moved);
}

const keyOf = ({ unit, instance_uuid: uuid }: SeenUnit) => `${unit} ${uuid}`;

const keysOf = (units: readonly SeenUnit[]) => units.map(keyOf).sort().join();

/** Whether a loss, its end, or the end of what was reported is news. */
function differs(then: Seen | undefined, now: readonly SeenUnit[]): boolean {
  const keys = (units: readonly SeenUnit[], isAttached: boolean) =>
    units.filter((each) => each.is_attached === isAttached).map(keyOf);
  const lost = (units: readonly SeenUnit[]) => keys(units, false).sort().join();
  if (lost(then?.units ?? []) !== lost(now)) return true;
  const has = new Set(keys(now, true));
  return keys(then?.units ?? [], true).some((key) => !has.has(key));
}

function unitsOf(
  devices: readonly ReportedDevice[],
  marks: Readonly<Record<string, Mark>>,
): [string, string][] {
  const offered = devices.flatMap((device) =>
    listHandles(device).flatMap((handle) =>
      toUnit(handle.uuid, handle).map((unit) => [unit, device.address] as const),
    ),
  );
  const prepared = Object.entries(marks).flatMap(([uuid, mark]) =>
    toUnit(uuid, mark).map((unit) => [unit, mark.address] as const),
  );
  return [...offered, ...prepared].map(([unit, address]) => [unit, address]);
}

function toUnit(
  uuid: string | undefined,
  { type, info }: Pick<Mark, 'type' | 'info'>,
): readonly string[] {
  if (type === 'MDEV') return uuid === undefined ? [] : [uuid.toLowerCase()];
  const { domain, bus, device, function: fn } = info;
  if (type !== 'PCI' || !domain || !bus || !device || !fn) return [];
  return [`${domain}:${bus}:${device.padStart(2, '0')}.${fn}`];
}
