// Computes the next report from the found devices and those that were acknowledged. Pure.

import {
  heartbeatSeconds,
  type InventoryReport,
  type ReportedDevice,
  reportBytesMax,
} from '#core/contracts/report/inventory-report.ts';
import { attachType } from '#core/shapes/attach-handle.ts';
import type { Found, FoundDevice } from './discover.ts';

/** The control plane can lose reports; a full report at this interval repairs that. */
const everythingSeconds = 3600;

// AWS counts the whole packet, including its header and a topic of at most 256 bytes.
const payloadBytesMax = reportBytesMax - 1024;

/** What each report says beside the devices. */
type HostFound = Omit<Found, 'devices'>;

/** What the control plane has acknowledged in this session. Times are of the monotonic clock. */
export interface Acknowledged extends HostFound {
  readonly digests: Readonly<Record<string, string>>;
  readonly reportedMs: number;
  readonly everythingMs: number;
}

export const nothingAcknowledged: Acknowledged = {
  digests: {},
  failedDrivers: [],
  notOffered: [],
  novaVersions: [],
  reportedMs: Number.NEGATIVE_INFINITY,
  everythingMs: Number.NEGATIVE_INFINITY,
};

type ReportReason = 'everything' | 'change' | 'heartbeat' | 'nothing';

interface ComposedReport extends HostFound {
  readonly reason: ReportReason;
  readonly manifest: Readonly<Record<string, string>>;
  /** The devices of each report to send, in order; a single empty list is a heartbeat. */
  readonly parts: readonly (readonly ReportedDevice[])[];
  /** Addresses of devices that do not fit into one message; their last report stays valid. */
  readonly oversized: readonly string[];
  /**
   * The manifest alone exceeds one message. No report is sent, since a shorter one would be
   * wrong.
   */
  readonly isTooLarge: boolean;
}

export function composeReport(
  discovery: Found,
  acknowledged: Acknowledged,
  nowMs: number,
): ComposedReport {
  const isNew = ({ device, digest }: FoundDevice) =>
    acknowledged.digests[device.address] !== digest;
  const drivers = discovery.devices.map(({ device }) => device.driver);
  // Leaves room for the names of drivers that fail below.
  const largest = { ...discovery, failedDrivers: unique([...discovery.failedDrivers, ...drivers]) };
  const room = payloadBytesMax - envelopeBytes(toManifest(discovery.devices), largest);
  const isTooLarge = room < 0;
  const oversized = discovery.devices.filter((each) => isNew(each) && countBytes(each) > room);
  const devices = discovery.devices.filter((each) => !oversized.includes(each));
  const manifest = toManifest(devices);
  // A device that is left out must not count as removed.
  const failed = [...discovery.failedDrivers, ...oversized.map(({ device }) => device.driver)];
  const { notOffered, novaVersions } = discovery;
  const host = { failedDrivers: unique(failed), notOffered, novaVersions };
  const reason = isTooLarge ? 'nothing' : chooseReason(manifest, host, acknowledged, nowMs);
  const described = reason === 'everything' ? devices : devices.filter(isNew);
  const fitting = described.filter((each) => countBytes(each) <= room);
  return {
    reason,
    manifest,
    ...host,
    parts: reason === 'nothing' ? [] : split(fitting, room),
    oversized: isTooLarge ? [] : oversized.map(({ device }) => device.address),
    isTooLarge,
  };
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}

/** The acknowledged state after one part of the plan was acknowledged. */
export function acknowledge(
  acknowledged: Acknowledged,
  plan: ComposedReport,
  part: number,
  nowMs: number,
) {
  const arrived = new Set(plan.parts[part]?.map(({ address }) => address));
  const isLast = part === plan.parts.length - 1;
  return {
    // A device that left the manifest is removed.
    digests: Object.fromEntries(
      Object.entries(plan.manifest).flatMap(([address, digest]) => {
        const held = arrived.has(address) ? digest : acknowledged.digests[address];
        return held === undefined ? [] : [[address, held]];
      }),
    ),
    failedDrivers: plan.failedDrivers,
    notOffered: plan.notOffered,
    novaVersions: plan.novaVersions,
    reportedMs: nowMs,
    everythingMs: isLast && plan.reason === 'everything' ? nowMs : acknowledged.everythingMs,
  } satisfies Acknowledged;
}

/** The acknowledged state with every device due for a new description. */
export function withEverythingDue(acknowledged: Acknowledged): Acknowledged {
  return { ...acknowledged, everythingMs: Number.NEGATIVE_INFINITY };
}

/** When the next report is due even if nothing changes. */
export function nextReportMs(acknowledged: Acknowledged): number {
  return Math.min(
    acknowledged.reportedMs + heartbeatSeconds * 1000,
    acknowledged.everythingMs + everythingSeconds * 1000,
  );
}

function chooseReason(
  manifest: ComposedReport['manifest'],
  { failedDrivers, notOffered, novaVersions }: HostFound,
  acknowledged: Acknowledged,
  nowMs: number,
): ReportReason {
  if (nowMs >= acknowledged.everythingMs + everythingSeconds * 1000) return 'everything';
  const isSame =
    failedDrivers.join() === acknowledged.failedDrivers.join() &&
    JSON.stringify(notOffered) === JSON.stringify(acknowledged.notOffered) &&
    novaVersions.join() === acknowledged.novaVersions.join() &&
    Object.keys(manifest).length === Object.keys(acknowledged.digests).length &&
    Object.entries(manifest).every(([address, digest]) => acknowledged.digests[address] === digest);
  if (!isSame) return 'change';
  return nowMs >= nextReportMs(acknowledged) ? 'heartbeat' : 'nothing';
}

function toManifest(devices: readonly FoundDevice[]): Record<string, string> {
  return Object.fromEntries(devices.map(({ device, digest }) => [device.address, digest]));
}

/** Splits the devices into reports; each has room for the manifest of the whole host. */
function split(devices: readonly FoundDevice[], room: number): ReportedDevice[][] {
  const parts: ReportedDevice[][] = [[]];
  let left = room;
  for (const each of devices) {
    const bytes = countBytes(each);
    if (bytes > left) {
      parts.push([]);
      left = room;
    }
    parts.at(-1)?.push(each.device);
    left -= bytes;
  }
  return parts;
}

/** Includes the separating comma. */
function countBytes({ device }: FoundDevice): number {
  return Buffer.byteLength(JSON.stringify(device)) + 1;
}

function envelopeBytes(
  manifest: ComposedReport['manifest'],
  { failedDrivers, notOffered, novaVersions }: HostFound,
) {
  const report: InventoryReport = {
    version: 1,
    agent_version: 'x'.repeat(64),
    boot_id: '00000000-0000-0000-0000-000000000000',
    sequence: Number.MAX_SAFE_INTEGER,
    manifest,
    failed_drivers: [...failedDrivers],
    not_offered: [...notOffered],
    nova_versions: [...novaVersions],
    attach_types: [...attachType.options],
    failure_domain: 'x'.repeat(64),
    asks_cards: true,
    clock: { ahead_ms: -Number.MAX_SAFE_INTEGER, within_ms: Number.MAX_SAFE_INTEGER },
    devices: [],
  };
  return Buffer.byteLength(JSON.stringify(report));
}
