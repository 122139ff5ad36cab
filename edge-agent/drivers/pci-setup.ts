// Host setup of driver pci: as many virtual functions as the allow-list asks for, and functions
// bound to the VFIO driver that it names. Touches nothing that is offered, held or in use.

import type { Guards } from '#agent/guards/guards.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { type Log, reasonOf } from '#agent/log.ts';
import { type PciFunction, readPciFunctionAt, readPciFunctions } from '#agent/sysfs/pci.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import { type AllowListEntry, matches } from './pci-allow-list.ts';
import { readWishes } from './pci-choice.ts';

export interface SetupDeps {
  readonly sysfs: Sysfs;
  readonly hardware: Hardware;
  readonly guards: Guards;
  readonly allowList: readonly AllowListEntry[];
  readonly log: Log;
}

/** @returns a sentence for each part that the host does not have */
export async function setUpPci(deps: SetupDeps): Promise<readonly string[]> {
  const faults: string[] = [];
  // A device after the other: each change of a host is one that an operator can follow in the log.
  for (const wanted of plannedCounts(deps)) {
    await attempt(faults, () => makeVirtualFunctions(deps, wanted));
  }
  if (!deps.allowList.some(({ bind_to: driver }) => driver !== undefined)) return faults;
  const { wishes } = readWishes(read(deps), deps.allowList);
  for (const { functions, entry } of wishes) {
    for (const fn of functions) {
      const { bind_to: driver } = entry;
      if (driver === undefined || fn.boundDriver === driver) continue;
      await attempt(faults, () => bindFunction(deps, fn, driver));
    }
  }
  return faults;
}

async function attempt(faults: string[], work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    faults.push(reasonOf(error));
  }
}

function read({ sysfs }: SetupDeps): PciFunction[] {
  // What cannot be read is reported by discovery.
  return readPciFunctions(sysfs, () => {});
}

export interface WantedCount {
  readonly physical: PciFunction;
  readonly existing: readonly PciFunction[];
  readonly count: number;
}

/** Physical functions with another number of virtual functions than their entry asks for. */
function plannedCounts(deps: SetupDeps): WantedCount[] {
  const { sysfs, allowList } = deps;
  if (!allowList.some(({ virtual_functions: wanted }) => typeof wanted === 'number')) return [];
  const functions = read(deps);
  return functions.flatMap((physical) => {
    const virtualId = sysfs.readAttribute(`${physical.path}/sriov_vf_device`);
    if (physical.physicalFunction || virtualId === undefined) return [];
    // Entries name the ids of virtual functions, which may not exist yet.
    const future = { ...physical, productId: virtualId.padStart(4, '0') };
    const entry = allowList.find((each) => matches(each, future, physical));
    const count = entry?.virtual_functions;
    if (typeof count !== 'number') return [];
    const existing = functions.filter((fn) => fn.physicalFunction === physical.address);
    return existing.length === count ? [] : [{ physical, existing, count }];
  });
}

/** The kernel changes the number through 0 only. */
async function makeVirtualFunctions(deps: SetupDeps, wanted: WantedCount): Promise<void> {
  const { sysfs, hardware, guards, log } = deps;
  const { physical, existing, count } = wanted;
  const { address, path } = physical;
  const asked = `The device at ${address} has ${existing.length} virtual functions, not ${count}`;
  const total = Number(sysfs.readAttribute(`${path}/sriov_totalvfs`));
  if (count > total) throw new Error(`${asked}: it can have at most ${total}.`);
  const offered = [physical, ...existing].find((fn) => guards.isOffered(fn.address));
  if (offered) throw new Error(`${asked}: ${offered.address} is offered to guests.`);
  // The host may use the physical function meanwhile: it stays what it is.
  const held = (await guards.heldBy([physical], false)) ?? (await guards.heldBy(existing, true));
  if (held) throw new Error(`${asked}: ${held}.`);
  const write = (name: string, text: string) =>
    hardware.writeText(address, `${path}/${name}`, text).catch((error: unknown) => {
      throw new Error(`${asked}: ${reasonOf(error)}.`);
    });
  // New functions stay without a driver, so that the host does not use them.
  await write('sriov_drivers_autoprobe', '0');
  if (existing.length > 0) await write('sriov_numvfs', '0');
  await write('sriov_numvfs', String(count));
  const made = await hardware.readText(address, `${path}/sriov_numvfs`);
  // A driver may make fewer, and the write succeeds.
  if (made !== String(count)) throw new Error(`${asked}: its driver made ${made}.`);
  log.info('Virtual functions made', { address, before: existing.length, count });
}

async function bindFunction(deps: SetupDeps, fn: PciFunction, driver: string): Promise<void> {
  const { sysfs, hardware, guards, log } = deps;
  const { address, path, boundDriver } = fn;
  const asked = `The device at ${address} is bound to ${boundDriver ?? 'no driver'}, not ${driver}`;
  // Offered functions too: a boot has unbound them.
  const held = await guards.heldBy([fn], true);
  if (held) throw new Error(`${asked}: ${held}.`);
  const write = (file: string, text: string) =>
    hardware.writeText(address, file, text).catch((error: unknown) => {
      throw new Error(`${asked}: ${reasonOf(error)}.`);
    });
  await write(`${path}/driver_override`, `${driver}\n`);
  if (boundDriver !== undefined) await write(`${path}/driver/unbind`, address);
  await write('bus/pci/drivers_probe', address);
  // The kernel also reports success if no driver took the device.
  const now = readPciFunctionAt(sysfs, address);
  const link = sysfs.linkName(`${path}/driver`);
  if (!now || link !== driver) {
    throw new Error(
      `${asked}: the kernel bound it to ${link ?? 'no driver'}; is ${driver} loaded?`,
    );
  }
  log.info('Function bound', { address, before: boundDriver, driver });
}
