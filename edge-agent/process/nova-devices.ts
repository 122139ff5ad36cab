// Devices that Nova gives to servers by itself: those that `[pci] device_spec` of its settings on
// this host matches. While `[pci] report_in_placement` is false, nothing else says so.

import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { NovaFiles } from '#agent/config/host-files.ts';
import { refusal, refuseUnsafe } from '#agent/config/safe-file.ts';
import { reasonOf } from '#agent/log.ts';
import { type PciFunction, readPciFunctionAt } from '#agent/sysfs/pci.ts';
import { parsePciAddress } from '#agent/sysfs/pci-address.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import { readNovaConf } from '#core/contracts/nova/nova-conf.ts';
import { type DeviceSpec, readDeviceSpecs } from '#core/contracts/nova/pci-forms.ts';
import { listHandles, type ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { hardwareFunction } from '#core/shapes/attach-handle.ts';

const bytesMax = 1024 * 1024;
const filesMax = 64;
const patternMax = 64;

export interface NovaDevices {
  /** Undefined where Nova's settings match no function of the device. */
  ownerOf(device: ReportedDevice): ReportedDevice['other_owner'];
  /** Why the settings are not known; those that were read before count then. */
  readonly fault?: string;
}

/** Keep the returned function: it remembers the settings that it has read. */
export function createNovaDevices({ paths, isNamed }: NovaFiles, sysfs: Sysfs): () => NovaDevices {
  let current: NovaSpecs = { specs: [], from: '' };
  return () => {
    const ownerOf = (device: ReportedDevice) => findOwner(device, current, sysfs);
    try {
      current = readSpecs(paths, isNamed);
      return { ownerOf };
    } catch (error) {
      return { ownerOf, fault: reasonOf(error) };
    }
  };
}

interface NovaSpecs {
  readonly specs: readonly DeviceSpec[];
  /** The files, as a phrase. */
  readonly from: string;
}

function readSpecs(paths: readonly string[], isNamed: boolean): NovaSpecs {
  const files = paths.flatMap((path) => listFiles(path, isNamed));
  if (files.length > filesMax) throw new Error(`more than ${filesMax} files: ${paths.join(', ')}`);
  const texts = files.map((path) => ({ path, text: readBounded(path) }));
  const read = readDeviceSpecs(readNovaConf(texts).deviceSpecs);
  const specs = read.map((each) => {
    if ('fault' in each) throw new Error(`[pci] device_spec, ${each.name}: ${each.fault}`);
    return each;
  });
  return { specs, from: files.join(', ') };
}

function listFiles(path: string, isNamed: boolean): readonly string[] {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (!stats && !isNamed) return [];
  if (!stats?.isDirectory()) return [path];
  const names = readdirSync(path).filter((name) => name.endsWith('.conf'));
  return names.sort().map((name) => join(path, name));
}

/** The file may name a device, and so withhold it: no user but root, or the agent's, writes it. */
function readBounded(path: string): string {
  // Does not wait for the other end of a pipe.
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(descriptor);
    const { uid, gid, mode, size } = stats;
    if (!stats.isFile()) throw refusal(path, 'is not a regular file');
    if (size > bytesMax) throw refusal(path, `is longer than ${bytesMax} bytes`);
    refuseUnsafe(path, { uid, mode: gid === 0 ? mode & ~0o020 : mode });
    return readFileSync(descriptor, 'utf8');
  } finally {
    closeSync(descriptor);
  }
}

function findOwner(
  device: ReportedDevice,
  { specs, from }: NovaSpecs,
  sysfs: Sysfs,
): ReportedDevice['other_owner'] {
  if (specs.length === 0) return undefined;
  const addresses = new Set([
    device.address,
    ...listHandles(device).flatMap((each) => hardwareFunction(each) ?? []),
  ]);
  for (const address of addresses) {
    const fn = readFunction(sysfs, address);
    const spec = fn && specs.find((each) => matches(each, fn, sysfs));
    if (!spec) continue;
    const by = `[pci] device_spec of ${from}, ${spec.name}, for ${address}`;
    return { name: 'Nova', by: by.length > 255 ? `${by.slice(0, 252)}...` : by };
  }
  return undefined;
}

/** What cannot be read cannot be given to a server either. */
function readFunction(sysfs: Sysfs, address: string): PciFunction | undefined {
  try {
    return parsePciAddress(address) && readPciFunctionAt(sysfs, address);
  } catch {
    return undefined;
  }
}

/** Nova also compares the place of the physical function that a virtual one belongs to. */
function matches(spec: DeviceSpec, fn: PciFunction, sysfs: Sysfs): boolean {
  if (spec.vendor !== undefined && spec.vendor !== fn.vendorId) return false;
  if (spec.product !== undefined && spec.product !== fn.productId) return false;
  const places = [fn.address, ...(fn.physicalFunction ? [fn.physicalFunction] : [])];
  const { devname } = spec;
  return places.some((place) =>
    devname === undefined
      ? isAt(spec, place)
      : sysfs.list(`bus/pci/devices/${place}/net`)?.includes(devname),
  );
}

const partNames = ['domain', 'bus', 'slot', 'function'] as const;

function isAt({ address, addressPattern }: DeviceSpec, place: string): boolean {
  const parts = place.split(/[:.]/);
  return partNames.every((name, index) => {
    const part = parts[index] ?? '';
    const allowed = address?.[index] ?? '*';
    const pattern = addressPattern?.[name];
    return (allowed === '*' || allowed === part) && (pattern === undefined || fits(part, pattern));
  });
}

/** Python's `re.match`. The text has four letters at most, so that no pattern takes long. */
function fits(part: string, pattern: string): boolean {
  if (pattern.length > patternMax) return false;
  try {
    return new RegExp(`^(?:${pattern})`).test(part);
  } catch {
    return false;
  }
}
