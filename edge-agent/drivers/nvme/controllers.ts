// NVMe controllers as the kernel's driver `nvme` shows them in sysfs. A controller on a VFIO
// driver shows nothing, so what was seen before is kept in a file of the driver.

import * as z from 'zod';
import type { Clock } from '#agent/clock.ts';
import { findOwner } from '#agent/guards/owner.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { reasonOf } from '#agent/log.ts';
import { openStateFiles } from '#agent/state/state-files.ts';
import { cardIds, type PciFunction, readIfReadable } from '#agent/sysfs/pci.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import { present } from '#core/shapes/derive/present.ts';

const text = (max: number) =>
  z
    .string()
    .max(max)
    .regex(/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/);
/** Lengths of SN, MN and FR: NVM Express Base Specification 1.4, 5.15.2.2. */
const facts = z.object({
  serial: text(20),
  model: text(40).optional(),
  firmware: text(8).optional(),
  gigabytes: z.int().min(1).optional(),
  /** The one that the agent has written, and the device has not run yet. */
  awaited: text(8).optional(),
  /** What it can erase with, by its Identify data. */
  erasure: z
    .object({
      sanitizeCapabilities: z.int().min(0),
      commands: z.int().min(0),
      /** Undefined if nvme-cli could not read the registers. */
      bootPartitionBytes: z.int().min(0).optional(),
    })
    .optional(),
  /** Critical Warning of its SMART log, and when it was read first. */
  smart: z.object({ warning: z.int().min(0).max(0xff), since: z.iso.datetime() }).optional(),
});
export type ControllerFacts = z.infer<typeof facts>;

const storedFacts = z.record(z.string(), facts.extend({ ids: z.string() }));
type Known = z.infer<typeof storedFacts>;

interface ShownController {
  /** `nvme0`. */
  readonly name: string;
  readonly address: string;
  /** The kernel driver's state: `live` if it takes commands. */
  readonly state: string | undefined;
  readonly facts: ControllerFacts | undefined;
}

/** All PCI controllers of this host that are on the kernel's driver. */
export function shownControllers(sysfs: Sysfs): ShownController[] {
  const names = (listed(sysfs, 'class/nvme') ?? []).filter((name) => /^nvme\d{1,4}$/.test(name));
  return names.flatMap((name) => {
    const address = ownerIfReadable(sysfs, `class/nvme/${name}`);
    if (!address) return [];
    const read = (file: string) => readIfReadable(sysfs, `class/nvme/${name}/${file}`)?.trim();
    // Before the rest: what is read of a controller that is live by then is the device's own.
    const state = read('state');
    const parsed = facts.safeParse({
      serial: read('serial'),
      ...validOnly('model', read('model')),
      ...validOnly('firmware', read('firmware_rev')),
      ...toGigabytes(sysfs, name),
    });
    return [{ name, address, state, facts: parsed.data }];
  });
}

/** Until the kernel has identified a controller, its serial number is `(efault)`. */
function isStarting({ state }: ShownController): boolean {
  return state === 'new' || state === 'resetting' || state === 'connecting';
}

/** What is only shown is left out if it is not valid. */
function validOnly(key: 'model' | 'firmware', text: string | undefined) {
  const { data } = facts.shape[key].safeParse(text);
  return data === undefined ? {} : { [key]: data };
}

/** The namespaces that the kernel shows; it counts in 512 bytes, whatever their blocks are. */
function toGigabytes(sysfs: Sysfs, name: string) {
  const blocks = (listed(sysfs, `class/nvme/${name}`) ?? []).filter((each) =>
    /^nvme\d+(c\d+)?n\d+$/.test(each),
  );
  const bytes = blocks.reduce((sum, block) => {
    const size = readIfReadable(sysfs, `class/nvme/${name}/${block}/size`) ?? '';
    return sum + (/^\d{1,15}$/.test(size) ? Number(size) * 512 : 0);
  }, 0);
  const gigabytes = Math.round(bytes / 1e9);
  return gigabytes > 0 ? { gigabytes } : {};
}

function listed(sysfs: Sysfs, path: string): readonly string[] | undefined {
  try {
    return sysfs.list(path);
  } catch {
    return undefined;
  }
}

function ownerIfReadable(sysfs: Sysfs, path: string): string | undefined {
  try {
    return findOwner(sysfs, path);
  } catch {
    return undefined;
  }
}

export interface KnownControllers {
  /** Facts of what the settings name, by address, as the kernel shows or has shown them. */
  factsFor(functions: readonly PciFunction[]): ReadonlyMap<string, ControllerFacts>;
  /** Remembers in memory alone: a plan writes nothing. */
  look(functions: readonly PciFunction[], isNamed?: IsNamed, ask?: Ask): Promise<void>;
  /**
   * Reads the file, and keeps in it what the kernel shows now of these functions. The firmware of
   * a device stays as it was first seen, unless the agent has written what it shows now: a holder
   * may have replaced it.
   *
   * @param isNamed whether the settings name what was seen; the rest is forgotten
   * @param ask for what a controller can erase with; once for each, because only the kernel's
   *   driver takes the question
   */
  remember(functions: readonly PciFunction[], isNamed?: IsNamed, ask?: Ask): Promise<void>;
  /** Resolves when it is on disk that the device may run this firmware, which the agent wrote. */
  awaitFirmware(address: string, firmware: string): Promise<void>;
  /** Resolves when it is on disk that the device runs it, after the agent has written it. */
  keepFirmware(address: string, firmware: string): Promise<void>;
  /** Resolves when it is on disk what SMART logs, by address, have said at this time. */
  keepWarnings(warnings: ReadonlyMap<string, number>, at: string): Promise<void>;
  /** Why a controller on the kernel's driver could not be asked, by address. */
  unasked(): ReadonlyMap<string, string>;
}

export type Ask = (shown: ShownController) => Promise<NonNullable<ControllerFacts['erasure']>>;

/** Keys are address and `vendor:product:subsystem`: an unreadable device counts, too. */
type IsNamed = (address: string, ids: string) => boolean;

const file = 'controllers.json';

export function openKnownControllers(sysfs: Sysfs, directory: string): KnownControllers {
  const files = openStateFiles(directory);
  let kept: Known = {};
  /** The file's text; undefined before it was read. */
  let written: string | undefined;
  let unasked: ReadonlyMap<string, string> = new Map();
  const look: KnownControllers['look'] = async (
    functions,
    isNamed = () => true,
    ask = undefined,
  ) => {
    if (written === undefined) {
      kept = readKnown(await files.read(file));
      written = JSON.stringify(kept);
    }
    const shown = new Map(shownControllers(sysfs).map((each) => [each.address, each]));
    const unknown = new Map<string, string>();
    const named = Object.entries(kept).filter(([address, { ids }]) => isNamed(address, ids));
    const now = Object.fromEntries(named);
    for (const fn of functions) {
      const controller = shown.get(fn.address);
      const facts = controller && isStarting(controller) ? undefined : controller?.facts;
      const before = now[fn.address];
      const same = before?.serial === facts?.serial ? before : undefined;
      let erasure = same?.erasure;
      if (ask && !erasure && fn.boundDriver === 'nvme') {
        try {
          if (controller?.state !== 'live') throw new Error('the kernel has not started it');
          erasure = await ask(controller);
        } catch (error) {
          unknown.set(fn.address, reasonOf(error));
        }
      }
      if (!facts) continue;
      // A holder may have made the firmware blank: that is not the awaited one.
      const isAwaited = facts.firmware !== undefined && facts.firmware === same?.awaited;
      now[fn.address] = {
        // Namespaces appear some time after their controller.
        ...(same?.gigabytes && { gigabytes: same.gigabytes }),
        ...facts,
        ...(same?.firmware && !isAwaited && { firmware: same.firmware }),
        ...(!isAwaited && present({ awaited: same?.awaited })),
        ...present({ erasure, smart: same?.smart }),
        ids: cardIds(fn),
      };
    }
    if (ask) unasked = unknown;
    kept = now;
  };
  const write = async () => {
    const text = JSON.stringify(kept);
    if (text === written) return;
    await files.replace(file, text);
    written = text;
  };
  const change = async (address: string, given: Pick<ControllerFacts, 'firmware' | 'awaited'>) => {
    const before = kept[address];
    if (!before) throw new Error(`The device at ${address} is not the one that was seen.`);
    const { awaited: _, ...others } = before;
    kept = { ...kept, [address]: { ...others, ...given } };
    await write();
  };
  return {
    look,
    keepWarnings: async (warnings, since) => {
      for (const [address, warning] of warnings) {
        const before = kept[address];
        const isNew = before && before.smart?.warning !== warning;
        if (isNew) kept = { ...kept, [address]: { ...before, smart: { warning, since } } };
      }
      await write();
    },
    awaitFirmware: (address, awaited) => change(address, { awaited }),
    keepFirmware: (address, firmware) => change(address, { firmware }),
    unasked: () => unasked,
    factsFor: (functions) =>
      new Map(
        functions.flatMap((fn) => {
          const facts = kept[fn.address];
          return facts && facts.ids === cardIds(fn) ? [[fn.address, facts] as const] : [];
        }),
      ),
    remember: async (...query) => {
      await look(...query);
      await write();
    },
  };
}

/** A file that is not valid is as none: the next boot shows the controllers to the kernel. */
function readKnown(text: string | undefined): Known {
  return storedFacts.safeParse(parseJson(text)).data ?? {};
}

/** A controller starts within CAP.TO, at most 127.5 s (Base Specification 1.4, 3.1.1). */
const startMs = 130_000;
const firstPollMs = 100;
const lastPollMs = 2_000;

/** Waits until the kernel's driver takes commands for it. @throws a sentence if it does not */
export async function waitForController(
  { sysfs, clock }: { readonly sysfs: Sysfs; readonly clock: Clock },
  address: string,
): Promise<ShownController & { readonly facts: ControllerFacts }> {
  const until = clock.monotonicMs() + startMs;
  for (let pollMs = firstPollMs; ; pollMs = Math.min(pollMs * 2, lastPollMs)) {
    const shown = shownControllers(sysfs);
    const [controller, second] = shown.filter((each) => each.address === address);
    if (second)
      throw new Error(`${address} has two controllers: ${controller?.name}, ${second.name}.`);
    if (controller?.state === 'dead' || controller?.state?.startsWith('deleting')) {
      throw new Error(`The controller ${controller.name} of ${address} is ${controller.state}.`);
    }
    if (controller?.state === 'live') {
      if (!controller.facts)
        throw new Error(`The serial number of ${controller.name} is not valid.`);
      const twin = shown.find(
        (each) => each.name !== controller.name && each.facts?.serial === controller.facts?.serial,
      );
      if (twin) throw new Error(`${address} and ${twin.address} have the same serial number.`);
      return { ...controller, facts: controller.facts };
    }
    if (clock.monotonicMs() >= until) {
      const state = controller ? `is ${controller.state ?? 'in no state'}` : 'has not appeared';
      throw new Error(`The controller of ${address} ${state} after ${startMs / 1000} s.`);
    }
    await clock.sleep(pollMs);
  }
}

/**
 * Runs programs only while the name is that of the controller at the address: the kernel gives the
 * name of a controller that has gone to the next one, which may be a disk of the host.
 */
export function onlyFor(
  { sysfs, hardware }: { readonly sysfs: Sysfs; readonly hardware: Hardware },
  address: string,
  controller: string,
): Hardware {
  const check = () => {
    if (ownerIfReadable(sysfs, `class/nvme/${controller}`) === address) return;
    throw new Error(`${controller} is no longer the controller of ${address}.`);
  };
  return {
    ...hardware,
    exec: async (...args) => {
      check();
      const answer = await hardware.exec(...args);
      if (answer.exitCode === 0) check();
      return answer;
    },
  };
}
