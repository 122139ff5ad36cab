// Reads what a driver has answered, before anything else of the agent does. A driver is code of
// others: its answer may be any value. What is read is plain data that a report can have.

import { createHash } from 'node:crypto';
import type { Driver } from '#agent/drivers/contract/driver.ts';
import { reasonOf } from '#agent/log.ts';
import { canonicalJson } from '#core/contracts/report/device-digest.ts';
import {
  type NotOffered,
  notOfferedMax,
  type ReportedDevice,
  reportBytesMax,
  reportedDevice,
} from '#core/contracts/report/inventory-report.ts';

export interface DriverReport {
  readonly devices: Readonly<Record<string, ReportedDevice>>;
  /** What the settings name, and the devices with an invalid description. */
  readonly notOffered: readonly NotOffered[];
  /** Address → what is wrong with the description. */
  readonly invalid: Readonly<Record<string, string>>;
}

const addressMax = 64;
const reasonMax = 255;

/** Descriptions that were found valid: most devices never change, and a check takes time. */
const validBefore = new WeakMap<Driver, ReadonlySet<string>>();

/** @throws an Error that says why nothing of the answer can be read */
export function readDiscovery(driver: Driver, answer: unknown): DriverReport {
  if (!isRecord(answer)) throw new Error('its answer is not an object');
  if (!isRecord(answer.devices)) throw new Error('its answer has no object "devices"');
  const { notOffered = [] } = answer;
  if (!Array.isArray(notOffered)) throw new Error('"notOffered" of its answer is not an array');
  const earlier = validBefore.get(driver) ?? new Set();
  const valid = new Set<string>();
  // Entries, because a driver may name a key that an object takes for its prototype.
  const devices: [string, ReportedDevice][] = [];
  const invalid: [string, string][] = [];
  for (const [address, described] of Object.entries(answer.devices)) {
    const read = readDevice(driver, address, described, earlier);
    if ('fault' in read) {
      invalid.push([address, read.fault]);
      continue;
    }
    valid.add(read.digest);
    devices.push([address, read.device]);
  }
  validBefore.set(driver, valid);
  const refused = invalid.map(([address, fault]) =>
    toNotOffered(driver, address, `has an invalid description: ${fault}`),
  );
  const entries = notOffered.map((each) => readRefusal(driver, each));
  return {
    devices: Object.fromEntries(devices),
    notOffered: [...refused, ...entries].slice(0, notOfferedMax),
    invalid: Object.fromEntries(invalid),
  };
}

type DeviceReading =
  | { readonly device: ReportedDevice; readonly digest: string }
  | { readonly fault: string };

function readDevice(
  driver: Driver,
  address: string,
  described: unknown,
  earlier: ReadonlySet<string>,
): DeviceReading {
  try {
    if (!isRecord(described)) return { fault: 'it is not an object' };
    const text = canonicalJson({ regions: [], ...described });
    if (text.length > reportBytesMax) return { fault: describeExcess(described, text.length) };
    // A copy: the driver may change its own object while the agent uses it.
    const device: ReportedDevice = JSON.parse(text);
    const digest = createHash('sha256').update(text).digest('hex');
    const fault = earlier.has(digest) ? undefined : describeFault(device, text);
    if (fault) return { fault };
    if (device.address !== address) {
      return { fault: `its key is ${address}, its address ${device.address}` };
    }
    if (device.driver !== driver.name) return { fault: `it names driver ${device.driver}` };
    return { device, digest };
  } catch (error) {
    return { fault: `it is not plain data: ${reasonOf(error)}` };
  }
}

/** A report has no room for it. */
function describeExcess(described: Record<string, unknown>, length: number): string {
  const sizes = Object.entries(described).map(([key, value]) => {
    return { key, size: canonicalJson(value)?.length ?? 0 };
  });
  const largest = sizes.reduce((one, other) => (other.size > one.size ? other : one));
  return `it has ${length} characters, most of them in ${largest.key}; at most ${reportBytesMax} are allowed`;
}

/** Why the control plane would refuse the device; undefined if the description is valid. */
function describeFault(device: ReportedDevice, text: string): string | undefined {
  const parsed = reportedDevice.safeParse(device);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    return faults.join('; ');
  }
  // The control plane would not see them.
  if (canonicalJson(parsed.data) === text) return undefined;
  return `it has unknown or invalid fields: ${differing(device, parsed.data).join(', ')}`;
}

function differing(device: ReportedDevice, parsed: ReportedDevice): string[] {
  const names = Object.keys(device) as (keyof ReportedDevice)[];
  return names.filter((name) => canonicalJson(device[name]) !== canonicalJson(parsed[name]));
}

/** An entry of `notOffered`. */
function readRefusal(driver: Driver, entry: unknown): NotOffered {
  const { address, reason } = isRecord(entry) ? entry : {};
  const hasReason = typeof reason === 'string' && reason !== '';
  return toNotOffered(
    driver,
    typeof address === 'string' ? address : 'without an address',
    hasReason ? reason : 'is not offered, and its driver gives no reason',
  );
}

function toNotOffered({ name }: Driver, address: string, reason: string): NotOffered {
  return {
    address: address.slice(0, addressMax),
    driver: name,
    reason: reason.slice(0, reasonMax),
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
