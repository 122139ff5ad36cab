// Decides what to tell the control plane, from what was found and what it acknowledged. Pure.

import { digestOf } from '#core/contracts/device-digest.ts';
import {
  heartbeatSeconds,
  type InventoryReport,
  type ReportedDevice,
  reportBytesMax,
} from '#core/contracts/inventory-report.ts';
import type { Found } from './discover.ts';

/** The control plane may have lost what it acknowledged; this bounds for how long. */
const everythingSeconds = 3600;

// AWS counts the whole packet: its header and a topic of at most 256 bytes.
const payloadBytesMax = reportBytesMax - 1024;

/** What the control plane has acknowledged in this session. Times are the monotonic clock's. */
export interface Acknowledged {
  readonly digests: Readonly<Record<string, string>>;
  readonly failedDrivers: readonly string[];
  readonly reportedMs: number;
  readonly everythingMs: number;
}

export const nothingAcknowledged: Acknowledged = {
  digests: {},
  failedDrivers: [],
  reportedMs: Number.NEGATIVE_INFINITY,
  everythingMs: Number.NEGATIVE_INFINITY,
};

export type Occasion = 'everything' | 'change' | 'heartbeat' | 'nothing';

export interface ReportPlan {
  readonly occasion: Occasion;
  readonly manifest: Readonly<Record<string, string>>;
  readonly failedDrivers: readonly string[];
  /** The devices of each report to be sent, in order; one empty list is a heartbeat. */
  readonly parts: readonly (readonly ReportedDevice[])[];
  /** Addresses of devices that no message can hold; they are not reported. */
  readonly oversized: readonly string[];
}

export function planReport(found: Found, known: Acknowledged, nowMs: number): ReportPlan {
  const { devices, oversized } = withoutOversized(found);
  const manifest = manifestOf(devices);
  const occasion = occasionOf(manifest, found.failedDrivers, known, nowMs);
  const changed =
    occasion === 'everything'
      ? devices
      : devices.filter(({ address }) => known.digests[address] !== manifest[address]);
  const parts = occasion === 'nothing' ? [] : split(changed, envelopeBytes(manifest, found));
  return { occasion, manifest, failedDrivers: found.failedDrivers, parts, oversized };
}

/** What is known to have arrived once a part of the plan was acknowledged. */
export function acknowledge(known: Acknowledged, plan: ReportPlan, part: number, nowMs: number) {
  const arrived = new Set(plan.parts[part]?.map(({ address }) => address));
  const isLast = part === plan.parts.length - 1;
  return {
    // What left the manifest is known to be gone.
    digests: Object.fromEntries(
      Object.entries(plan.manifest).flatMap(([address, digest]) => {
        const acknowledged = arrived.has(address) ? digest : known.digests[address];
        return acknowledged === undefined ? [] : [[address, acknowledged]];
      }),
    ),
    failedDrivers: plan.failedDrivers,
    reportedMs: nowMs,
    everythingMs: isLast && plan.occasion === 'everything' ? nowMs : known.everythingMs,
  } satisfies Acknowledged;
}

/** When there will be something to say even if nothing changes. */
export function nextReportMs(known: Acknowledged): number {
  return Math.min(
    known.reportedMs + heartbeatSeconds * 1000,
    known.everythingMs + everythingSeconds * 1000,
  );
}

function occasionOf(
  manifest: ReportPlan['manifest'],
  failedDrivers: readonly string[],
  known: Acknowledged,
  nowMs: number,
): Occasion {
  if (nowMs >= known.everythingMs + everythingSeconds * 1000) return 'everything';
  const isSame =
    failedDrivers.join() === known.failedDrivers.join() &&
    Object.keys(manifest).length === Object.keys(known.digests).length &&
    Object.entries(manifest).every(([address, digest]) => known.digests[address] === digest);
  if (!isSame) return 'change';
  return nowMs >= nextReportMs(known) ? 'heartbeat' : 'nothing';
}

function manifestOf(devices: readonly ReportedDevice[]): Record<string, string> {
  return Object.fromEntries(devices.map((device) => [device.address, digestOf(device)]));
}

/** Fills one report after another; each has room for the manifest of the whole host. */
function split(devices: readonly ReportedDevice[], envelope: number): ReportedDevice[][] {
  const parts: ReportedDevice[][] = [[]];
  let bytes = envelope;
  for (const device of devices) {
    const more = bytesOf(device);
    if (bytes + more > payloadBytesMax && bytes > envelope) {
      parts.push([]);
      bytes = envelope;
    }
    parts.at(-1)?.push(device);
    bytes += more;
  }
  return parts;
}

function withoutOversized(found: Found) {
  const envelope = envelopeBytes(manifestOf(found.devices), found);
  const isOversized = (device: ReportedDevice) => envelope + bytesOf(device) > payloadBytesMax;
  return {
    devices: found.devices.filter((device) => !isOversized(device)),
    oversized: found.devices.filter(isOversized).map(({ address }) => address),
  };
}

function envelopeBytes(manifest: ReportPlan['manifest'], { failedDrivers }: Found): number {
  const report: InventoryReport = {
    version: 1,
    agent_version: 'x'.repeat(64),
    boot_id: '00000000-0000-0000-0000-000000000000',
    sequence: Number.MAX_SAFE_INTEGER,
    manifest,
    failed_drivers: [...failedDrivers],
    devices: [],
  };
  return Buffer.byteLength(JSON.stringify(report));
}

/** With the comma behind it. */
function bytesOf(device: ReportedDevice): number {
  return Buffer.byteLength(JSON.stringify(device)) + 1;
}
