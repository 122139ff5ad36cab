// Hosts and devices that may have an incident are marked, so that operators' lists read them
// alone. A mark too many is read in vain; a mark too few would hide an incident. So the streams
// only add marks, and the sweep removes those that it has found to be needless. Pure.

import type { AttachHandle, Device } from '#core/domain/device/device.ts';
import { isUnhealthy, programOfLost } from '#core/domain/device/device-health.ts';
import { isUncleanImport } from '#core/domain/device/handle-state.ts';
import { skewSecondsMax } from '#core/domain/host/clock-skew.ts';
import type { HostSummary } from '#core/domain/host/host-summary.ts';
import type { Change } from '#core/domain/outbox/outbox.ts';

export interface IncidentMark {
  readonly kind: 'host' | 'device';
  /** The host's name, or the device's uuid. */
  readonly id: string;
  readonly hostname: string;
}

/** Rounds of the sweep over all hosts and devices, each of which has corrected the marks. */
export interface MarkRounds {
  /** When the first of them began; ISO 8601. */
  readonly since: string;
  /** When the last one that is complete began. */
  readonly at: string;
}

const hourMs = 3_600_000;
/** A round takes an hour at most. */
const betweenMsMax = 3 * hourMs;

/** @param at when the round that is complete now began */
export function addMarkRound(before: MarkRounds | undefined, at: string): MarkRounds {
  const isNext = before && Date.parse(at) - Date.parse(before.at) <= betweenMsMax;
  return { since: isNext ? before.since : at, at };
}

/**
 * Whether no mark is missing: a whole round began an hour after the first. Within that hour of an
 * upgrade, the former release may have taken some of the changes, and marked nothing.
 */
export function areMarksComplete(rounds: MarkRounds | undefined, nowMs: number): boolean {
  if (!rounds) return false;
  const [sinceMs, atMs] = [Date.parse(rounds.since), Date.parse(rounds.at)];
  return atMs - sinceMs >= hourMs && nowMs - atMs <= 2 * betweenMsMax;
}

/** Whether it has an incident, or gets one by time alone. */
export function mayHostHaveIncident(summary: HostSummary): boolean {
  const { bootId, presence, conflictSince, clockAheadSeconds = 0 } = summary;
  const mayBeAway = bootId !== undefined && !presence?.isConnected;
  return (
    mayBeAway ||
    conflictSince !== undefined ||
    Math.abs(clockAheadSeconds) > skewSecondsMax ||
    summary.notOffered > 0 ||
    summary.lostProviders !== undefined
  );
}

/** @param handles of the device; those of an import alone count */
export function mayDeviceHaveIncident(device: Device, handles: readonly AttachHandle[]): boolean {
  const { isGone, attachmentFaults = [], cardCleaning, programs = [], adopted } = device;
  if (isGone) return attachmentFaults.length > 0 || programOfLost(device) !== undefined;
  return (
    isUnhealthy(device) ||
    device.offeredTwice !== undefined ||
    attachmentFaults.length > 0 ||
    cardCleaning?.withheldSince !== undefined ||
    programs.some(({ state }) => state === 'awaiting-power-cycle') ||
    (adopted !== undefined && handles.some(isUncleanImport))
  );
}

/** Marks that a committed change asks for: those of a row that had none before. */
export function marksOfChange(change: Change): IncidentMark[] {
  if (change.kind === 'host') {
    const { before, after } = change;
    const isNew = after && mayHostHaveIncident(after) && !(before && mayHostHaveIncident(before));
    return isNew ? [markHost(after.hostname)] : [];
  }
  if (change.kind !== 'device' || !change.after) return [];
  const { before, after } = change;
  const wasMarked = before !== undefined && mayDeviceHaveIncident(before, []);
  const isImported = after.adopted !== undefined && before?.adopted === undefined;
  const isNew = mayDeviceHaveIncident(after, []) && !wasMarked;
  return isNew || isImported ? [markDevice(after)] : [];
}

export function markHost(hostname: string): IncidentMark {
  return { kind: 'host', id: hostname, hostname };
}

export function markDevice({ uuid: id, hostname }: Device): IncidentMark {
  return { kind: 'device', id, hostname };
}
