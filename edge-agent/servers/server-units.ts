// Follows which units of devices the host's servers have, by libvirt's definitions. Pure.

import type { DomainDefinition } from '#agent/guards/libvirt/domain-definition.ts';
import type { ServerRecord, ServerRecords } from '#agent/servers/server-records.ts';

/** Nova defines a server anew within seconds of a hard reboot. */
const absentMsMax = 10 * 60_000;

/** Unit → the address of its device. */
export type Units = ReadonlyMap<string, string>;

interface Server {
  readonly isRunning: boolean;
  readonly isOfNova: boolean;
  /** Those that are units of reported devices. */
  readonly has: readonly string[];
}

interface Definitions {
  readonly defined: readonly DomainDefinition[];
  readonly live: readonly DomainDefinition[];
}

/** The units of each server that libvirt knows, by its uuid; a running one has its live ones. */
export function readServers({ defined, live }: Definitions, units: Units) {
  const servers = new Map<string, Server>();
  const note = (domain: DomainDefinition, isRunning: boolean) => {
    const { uuid, isOfNova, functions, mdevs } = domain;
    const has = [...functions, ...mdevs].filter((each) => units.has(each));
    if (uuid !== '') servers.set(uuid, { isRunning, isOfNova, has });
  };
  for (const each of defined) note(each, false);
  for (const each of live) note(each, each.state !== 'shutoff' && each.state !== 'crashed');
  return servers;
}

/**
 * A server with as many units as before may have others now: it was unshelved. With fewer it has
 * lost some, which count while it runs. What another server runs with is no longer expected,
 * unless that is a domain which Nova has not made: its end gives the server nothing back.
 */
export function followServers(
  before: ServerRecords,
  servers: ReadonlyMap<string, Server>,
  units: Units,
  nowMs: number,
): ServerRecords {
  const now = new Date(nowMs).toISOString();
  const runs = new Map<string, string>();
  for (const [uuid, { isRunning, isOfNova, has }] of servers) {
    if (isRunning && isOfNova) for (const unit of has) runs.set(unit, uuid);
  }
  const after: Record<string, ServerRecord> = {};
  for (const uuid of new Set([...Object.keys(before), ...servers.keys()])) {
    const record = Object.hasOwn(before, uuid) ? before[uuid] : undefined;
    const server = servers.get(uuid);
    const next = server ? followOne(record, server, units, now) : followAbsent(record, nowMs, now);
    if (!next) continue;
    const isTaken = (unit: string) => (runs.get(unit) ?? uuid) !== uuid;
    const kept = {
      ...next,
      units: without(next.units, isTaken),
      lacks: without(next.lacks, isTaken),
    };
    if (Object.keys(kept.units).length > 0) after[uuid] = kept;
  }
  return after;
}

function followOne(
  record: ServerRecord | undefined,
  { isRunning, has }: Server,
  units: Units,
  now: string,
): ServerRecord {
  const had = record?.units ?? {};
  if (has.length >= Object.keys(had).length) {
    const entries = has.map((unit) => {
      const device = units.get(unit) ?? '';
      return [unit, { device, since: had[unit]?.since ?? now }] as const;
    });
    return { units: Object.fromEntries(entries), lacks: {} };
  }
  const missing = Object.keys(had).filter((unit) => isRunning && !has.includes(unit));
  const lacks = missing.map((unit) => [unit, record?.lacks[unit] ?? now] as const);
  return { units: had, lacks: Object.fromEntries(lacks) };
}

function followAbsent(
  record: ServerRecord | undefined,
  nowMs: number,
  now: string,
): ServerRecord | undefined {
  const since = record?.absent_since ?? now;
  if (!record || nowMs - Date.parse(since) > absentMsMax) return undefined;
  return { units: record.units, lacks: {}, absent_since: since };
}

function without<T>(
  entries: Readonly<Record<string, T>>,
  isLeftOut: (key: string) => boolean,
): Record<string, T> {
  return Object.fromEntries(Object.entries(entries).filter(([key]) => !isLeftOut(key)));
}
