// Gates: programs of the operator that judge a device after it was cleaned and before the next
// server may have it. Only exit code 0 passes; whatever else happens, the cleaning has failed.
//
// INVARIANTS
// - A gate is checked before each run: no other user can have changed it.
// - A run ends at its limit. What it has started ends with it, as far as it can be found: by its
//   process group, and by the environment in which it was started.
// - While a gate runs, its device is reported as before and is not set up: a gate may have it on
//   the vendor's driver. A gate that leaves it there has failed.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { Clock } from '#agent/clock.ts';
import type { GateSettings } from '#agent/config/gate-settings.ts';
import { refuseUnsafeProgram } from '#agent/config/safe-file.ts';
import type { HandleWork } from '#agent/drivers/contract/driver.ts';
import type { Proc } from '#agent/guards/proc.ts';
import { killGroup, type StartChild, startChild } from '#agent/hardware/watched-child.ts';
import { type Log, reasonOf } from '#agent/log.ts';
import { parsePciAddress, printPciAddress } from '#agent/sysfs/pci-address.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import type { Evidence } from '#core/contracts/jobs/job-document.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { cleanSecondsMax } from '#core/shapes/attach-handle.ts';
import { endStrays } from './strays.ts';

/** A gate prints what it has found, not a dump. */
const outputMax = 64 * 1024;
/** What is kept of it. */
const keptMax = 200;
/** A killed process ends within milliseconds, unless it hangs in the kernel. */
const lookMs = 50;
const looksMax = 20;
const path = '/usr/bin:/bin:/usr/sbin:/sbin';

export interface Gate extends GateSettings {
  /** The resource class of the handle, where its device is still described. */
  readonly resourceClass?: string;
}

export interface Gates {
  /** The device with the time that its gate may take added to that of its cleaning. */
  describe(device: ReportedDevice): ReportedDevice;
  /** The gate of the class of a handle, or of its driver. */
  gateFor(driver: string, resourceClass: string | undefined): Gate | undefined;
  /** @throws GateFailed with a sentence that names the gate */
  pass(gate: Gate, device: ReportedDevice, work: HandleWork): Promise<Evidence>;
  /** The settings' keys that are for none of the devices. */
  withoutDevice(devices: readonly ReportedDevice[]): string[];
  /** Whether a gate has the device or the function now. */
  isHeld(address: string): boolean;
  /** Or has had it since a time of the monotonic clock. */
  wasHeld(address: string, sinceMs: number): boolean;
}

/** The message is the reason in the job's answer. */
export class GateFailed extends Error {
  override readonly name = 'GateFailed';
}

interface GatesDeps {
  readonly settings: Readonly<Record<string, GateSettings>>;
  readonly sysfs: Sysfs;
  /** The kernel's own, also in a trial. */
  readonly proc: Proc;
  readonly clock: Clock;
  readonly log: Log;
  readonly start?: StartChild;
}

export function createGates(deps: GatesDeps): Gates {
  const { settings, sysfs, proc, clock, log, start = startChild } = deps;
  const held = new Set<string>();
  const leftAt = new Map<string, number>();
  /** Handles whose last gate hangs in the kernel. */
  const hanging = new Set<string>();
  const gateOf = (driver: string, resourceClass?: string) =>
    ownEntry(settings, resourceClass) ?? ownEntry(settings, driver);

  async function run(gate: Gate, device: ReportedDevice, work: HandleWork, address: string) {
    const name = basename(gate.program);
    const sha256 = readChecked(gate);
    const marked = `GATE_HANDLE=${work.uuid}`;
    // An agent that was killed may have left the gate of its last run.
    for (let looks = 1; endStrays(proc, marked) > 0; looks += 1) {
      if (looks === looksMax) throw new GateFailed(`The gate ${name} of the last try still runs.`);
      await clock.sleep(lookMs);
    }
    let left = 0;
    const startedMs = clock.monotonicMs();
    const { result, gone } = start({
      program: gate.program,
      args: [],
      environment: {
        LC_ALL: 'C',
        PATH: path,
        GATE_PCI_ADDRESS: address,
        GATE_CARD: work.address,
        GATE_HANDLE: work.uuid,
        GATE_RESOURCE_CLASS: gate.resourceClass ?? '',
        GATE_MODEL: `${device.vendor}:${device.product}`,
        GATE_DRIVER: device.driver,
      },
      limitMs: gate.time_limit_seconds * 1000,
      outputMax,
      afterExit: (pid) => {
        left += Number(killGroup(pid)) + endStrays(proc, marked);
      },
    });
    hanging.add(work.uuid);
    gone.then(() => hanging.delete(work.uuid));
    const ended = await result;
    const seconds = Math.round((clock.monotonicMs() - startedMs) / 100) / 10;
    const output = printable(ended.stdout.toString('utf8')) || printable(ended.stderr);
    const facts = { program: gate.program, sha256, address, handle: work.uuid, seconds, output };
    const fault = faultOf(ended, gate, left);
    if (fault) {
      log.error('Gate failed', { ...facts, reason: fault });
      const printed = output && ` It printed: ${output}`;
      throw new GateFailed(`The gate ${name} ${fault}, after ${seconds} s.${printed}`);
    }
    log.info('Gate passed', facts);
    return {
      gate: name,
      gate_exit_code: 0,
      gate_seconds: seconds,
      ...(output && { gate_output: output }),
      gate_sha256: sha256,
    };
  }

  return {
    describe: (device) =>
      withGates(device, (resourceClass) => gateOf(device.driver, resourceClass)),

    gateFor: (driver, resourceClass) => {
      const gate = gateOf(driver, resourceClass);
      return gate && { ...gate, ...(resourceClass !== undefined && { resourceClass }) };
    },

    pass: async (gate, device, work) => {
      const address = functionOf(work);
      if (hanging.has(work.uuid)) {
        throw new GateFailed(`The gate ${basename(gate.program)} of the last try still hangs.`);
      }
      const driverBefore = boundDriver(sysfs, address);
      const places = [work.address, address].filter((place) => !held.has(place));
      for (const place of places) held.add(place);
      try {
        const evidence = await run(gate, device, work, address);
        const driverAfter = boundDriver(sysfs, address);
        if (driverAfter === driverBefore) return evidence;
        throw new GateFailed(
          `The gate ${basename(gate.program)} left ${address} on ${driverAfter}, not on ${driverBefore}.`,
        );
      } finally {
        for (const place of places) {
          held.delete(place);
          leftAt.set(place, clock.monotonicMs());
        }
      }
    },

    withoutDevice: (devices) => {
      const used = new Set(devices.flatMap((each) => [each.driver, ...classesOf(each)]));
      return Object.keys(settings).filter((key) => !used.has(key));
    },

    isHeld: (address) => held.has(address),
    wasHeld: (address, sinceMs) => held.has(address) || (leftAt.get(address) ?? -1) >= sinceMs,
  };
}

/** @returns the SHA-256 of the program @throws GateFailed if the agent must not run it */
function readChecked({ program }: Gate): string {
  try {
    refuseUnsafeProgram(program);
    return createHash('sha256').update(readFileSync(program)).digest('hex');
  } catch (error) {
    throw new GateFailed(`The gate was not run: ${reasonOf(error)}`);
  }
}

type Ended = Awaited<ReturnType<StartChild>['result']>;

/** A clause; undefined if the gate has passed. */
function faultOf({ end, exitCode, stderr }: Ended, gate: Gate, left: number): string | undefined {
  const faults = {
    exited: exitCode === 0 ? undefined : `ended with exit code ${exitCode}`,
    late: `did not end within ${gate.time_limit_seconds} s and was killed`,
    loud: `printed more than ${outputMax / 1024} KiB and was killed`,
    failed: stderr.startsWith('spawn ') ? 'could not be started' : 'was ended by a signal',
  };
  return faults[end] ?? (left > 0 ? 'left processes behind, which were killed' : undefined);
}

/** One line of what a program has printed, which may be anything. */
function printable(text: string): string {
  const line = text.replaceAll(/[^\x20-\x7e]+/g, ' ').replaceAll(/ +/g, ' ');
  return line.trim().slice(0, keptMax);
}

function withGates(
  device: ReportedDevice,
  gateOf: (resourceClass: string) => GateSettings | undefined,
): ReportedDevice {
  const gated = <T extends NonNullable<ReportedDevice['offers']>>(offering: T): T => {
    const gate = gateOf(offering.resource_class);
    if (!gate) return offering;
    const handles = offering.attach_handles.map((handle) => {
      const seconds = (handle.clean_seconds ?? 0) + gate.time_limit_seconds;
      return { ...handle, clean_seconds: Math.min(seconds, cleanSecondsMax) };
    });
    return { ...offering, attach_handles: handles };
  };
  return {
    ...device,
    ...(device.offers && { offers: gated(device.offers) }),
    regions: device.regions.map(gated),
  };
}

function offeringsOf({ offers, regions }: ReportedDevice) {
  return [...(offers ? [offers] : []), ...regions];
}

function classesOf(device: ReportedDevice): string[] {
  return offeringsOf(device).map((each) => each.resource_class);
}

/** The function that a guest gets; for an mdev the card that makes it. */
function functionOf({ address, info }: HandleWork): string {
  const { domain, bus, device, function: fn } = info;
  const parsed = parsePciAddress(`${domain}:${bus}:${device}.${fn}`);
  return parsed ? printPciAddress(parsed) : address;
}

function boundDriver(sysfs: Sysfs, address: string): string {
  return sysfs.linkName(`bus/pci/devices/${address}/driver`) ?? 'no driver';
}

function ownEntry<T>(entries: Readonly<Record<string, T>>, key: string | undefined): T | undefined {
  return key !== undefined && Object.hasOwn(entries, key) ? entries[key] : undefined;
}
