// Host setup of driver pci: as many virtual functions as the allow-list asks for, and functions
// bound to the VFIO driver that it names. Touches nothing that is offered, held or in use.

import type { HostChange } from '#agent/drivers/contract/driver.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { reasonOf } from '#agent/log.ts';
import {
  type PciFunction,
  readPciFunctionAt,
  readPciFunctions,
  virtualLinks,
} from '#agent/sysfs/pci.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import { type AllowListEntry, matches } from './allow-list.ts';
import { findCompanions, readWishes } from './choice.ts';
import {
  findOtherCardRefusals,
  findUnfitFunctions,
  mayBeReplaced,
  refuseUnknownCard,
  type UnfitDeps,
} from './fitness/unfit-functions.ts';

interface SetupDeps extends UnfitDeps {
  readonly hardware: Hardware;
  readonly allowList: readonly AllowListEntry[];
  /** Addresses that the driver is cleaning: their binding is its own until the end. */
  readonly busy?: ReadonlySet<string>;
}

/** What a change of a card's number of virtual functions is called. */
export const functionCount = 'number of virtual functions';

export async function planPci(deps: SetupDeps): Promise<readonly HostChange[]> {
  const asksForSetup = deps.allowList.some(
    ({ virtual_functions: count, bind_to: driver }) => typeof count === 'number' || driver,
  );
  if (!asksForSetup) return [];
  const functions = read(deps);
  const counts: HostChange[] = [];
  for (const goal of wantedCounts(deps, functions)) counts.push(await planCount(deps, goal));
  // Functions that are about to be replaced are bound afterwards.
  const replaced = new Set(counts.flatMap((each) => ('apply' in each ? [each.address] : [])));
  return [...counts, ...(await planBindings(deps, functions, replaced))];
}

function read({ sysfs }: SetupDeps): PciFunction[] {
  // What cannot be read is reported by discovery.
  return readPciFunctions(sysfs, () => {});
}

interface WantedCount {
  readonly physical: PciFunction;
  readonly existing: readonly PciFunction[];
  /** Addresses of virtual functions that exist and cannot be read. */
  readonly unread: readonly string[];
  readonly count: number;
  readonly entry: AllowListEntry;
}

/** Physical functions with another number of virtual functions than their entry asks for. */
function wantedCounts(deps: SetupDeps, functions: readonly PciFunction[]): WantedCount[] {
  const { sysfs, allowList } = deps;
  return functions.flatMap((physical) => {
    const virtualId = sysfs.readAttribute(`${physical.path}/sriov_vf_device`);
    if (physical.physicalFunction || virtualId === undefined) return [];
    // Entries name the ids of virtual functions, which may not exist yet.
    const future = { ...physical, productId: virtualId.padStart(4, '0') };
    const entry = allowList.find((each) => matches(each, future, physical));
    const count = entry?.virtual_functions;
    if (!entry || typeof count !== 'number') return [];
    const existing = functions.filter((fn) => fn.physicalFunction === physical.address);
    const unread = unreadFunctions(sysfs, physical, existing);
    return existing.length + unread.length === count
      ? []
      : [{ physical, existing, unread, count, entry }];
  });
}

function unreadFunctions(
  sysfs: Sysfs,
  physical: PciFunction,
  existing: readonly PciFunction[],
): string[] {
  const linked = virtualLinks(sysfs, physical).flatMap(({ address }) => address ?? []);
  return linked.filter((address) => !existing.some((fn) => fn.address === address));
}

async function planCount(deps: SetupDeps, goal: WantedCount): Promise<HostChange> {
  const { physical, existing, unread, count } = goal;
  const { address } = physical;
  const difference = {
    address,
    what: functionCount,
    before: String(existing.length + unread.length),
    after: String(count),
  };
  const refusal = await refusalOfCount(deps, goal);
  if (refusal !== undefined) return { ...difference, refusal };
  return {
    ...difference,
    apply: async () => {
      const [now] = wantedCounts(deps, read(deps)).filter(
        (each) => each.physical.address === address,
      );
      if (!now) return;
      const refused = await refusalOfCount(deps, now);
      if (refused !== undefined) throw new Error(refused);
      await makeVirtualFunctions(deps, now);
    },
  };
}

async function refusalOfCount(
  deps: SetupDeps,
  { physical, existing, unread, count, entry }: WantedCount,
): Promise<string | undefined> {
  const { sysfs, guards } = deps;
  const [other] = (
    await findOtherCardRefusals(deps, [{ physical, entry, functions: [physical] }])
  ).values();
  if (other !== undefined) return `it ${other}`;
  const unknown = refuseUnknownCard(deps, { entry });
  if (unknown !== undefined) return `it ${unknown}`;
  const total = Number(sysfs.readAttribute(`${physical.path}/sriov_totalvfs`) ?? Number.NaN);
  if (!Number.isSafeInteger(total)) return 'its sriov_totalvfs is not a number';
  if (count > total) return `it can have at most ${total}`;
  return await refusalOfRemoval({ sysfs, guards }, physical, existing, unread);
}

/** Why the virtual functions of a card must not be removed, and the card not be worked on. */
export async function refusalOfRemoval(
  { sysfs, guards }: Pick<SetupDeps, 'sysfs' | 'guards'>,
  physical: PciFunction,
  existing: readonly PciFunction[],
  unread: readonly string[] = unreadFunctions(sysfs, physical, existing),
): Promise<string | undefined> {
  const offered = [physical, ...existing].filter((fn) => guards.isOffered(fn.address));
  const [[address, use] = [offered[0]?.address]] = (await guards.ofServers(offered)).held;
  if (address) return `${address} is offered to guests${use ? `, and ${use}` : ''}`;
  // Making another number of functions removes all that exist.
  if (unread[0] !== undefined) return `${unread[0]} cannot be read`;
  // The host may use the physical function meanwhile: it stays what it is.
  const held = [
    ...(await guards.heldBy([physical], false)),
    ...(await guards.heldBy(existing, true)),
  ];
  return held.map(([address, use]) => `${address} ${use}`)[0];
}

/** The kernel changes the number through 0 only. */
async function makeVirtualFunctions(deps: SetupDeps, goal: WantedCount): Promise<void> {
  const { hardware } = deps;
  const { existing, count } = goal;
  const { address, path } = goal.physical;
  const write = (name: string, text: string) =>
    hardware.writeText(address, `${path}/${name}`, text);
  // New functions stay without a driver, so that the host does not use them.
  await write('sriov_drivers_autoprobe', '0');
  if (existing.length > 0) await write('sriov_numvfs', '0');
  await write('sriov_numvfs', String(count));
  const made = await hardware.readText(address, `${path}/sriov_numvfs`);
  // A driver may make fewer, and the write succeeds.
  if (made !== String(count)) throw new Error(`its driver made ${made}`);
}

/** @param replaced physical functions with virtual functions that are about to be replaced */
async function planBindings(
  deps: SetupDeps,
  functions: readonly PciFunction[],
  replaced: ReadonlySet<string>,
): Promise<HostChange[]> {
  const { wishes } = readWishes(functions, deps.allowList);
  const unfit = await findUnfitFunctions(deps, wishes);
  const bindings = wishes.flatMap((wish) => {
    const { bind_to: driver } = wish.entry;
    // A companion goes with its card.
    const [reason] = wish.functions.flatMap(({ address }) => unfit.get(address) ?? []);
    return [...wish.functions, ...findCompanions(wish, functions)].flatMap((fn) =>
      driver === undefined ||
      fn.boundDriver === driver ||
      replaced.has(fn.physicalFunction ?? '') ||
      deps.busy?.has(fn.address)
        ? []
        : [{ fn, driver, wish, refused: unfit.get(fn.address) ?? reason }],
    );
  });
  // Offered functions too: a boot has unbound them. One look for all: it reads all of /proc.
  const held = await deps.guards.heldBy(
    bindings.map(({ fn }) => fn),
    true,
  );
  return bindings.map(({ fn, driver, wish, refused }) => {
    const { address, boundDriver = 'none' } = fn;
    const difference = { address, what: 'driver', before: boundDriver, after: driver };
    const isTaken = fn.boundDriver !== undefined && !fn.boundDriver.includes('vfio');
    const use =
      refused ?? held.get(address) ?? (isTaken ? refuseUnknownCard(deps, wish) : undefined);
    if (use !== undefined) return { ...difference, refusal: `${address} ${use}` };
    return {
      ...difference,
      apply: async () => {
        if (deps.busy?.has(address)) throw new Error(`${address} is being cleaned`);
        const card = readPciFunctionAt(deps.sysfs, wish.physical.address);
        if (card && !mayBeReplaced(deps, wish)) {
          const [other] = (await deps.guards.findOtherCards([card])).values();
          if (other !== undefined) throw new Error(`${address} ${other}`);
        }
        try {
          await bindFunction(deps, address, driver);
          deps.failedBindings.delete(address);
        } catch (error) {
          deps.failedBindings.set(address, reasonOf(error));
          throw error;
        }
      },
    };
  });
}

/** @throws if the function is in use, or the kernel has not bound it to the driver */
export async function bindFunction(
  deps: Pick<SetupDeps, 'sysfs' | 'hardware' | 'guards'>,
  address: string,
  driver: string,
  whileUnbound: (fn: PciFunction) => Promise<void> = async () => {},
): Promise<void> {
  const { sysfs, hardware, guards } = deps;
  const fn = readPciFunctionAt(sysfs, address);
  if (!fn) throw new Error(`${address} is no longer there`);
  const { path, boundDriver } = fn;
  if (boundDriver === driver) return;
  const use = (await guards.heldBy([fn], true)).get(address);
  if (use !== undefined) throw new Error(`${address} ${use}`);
  await hardware.writeText(address, `${path}/driver_override`, `${driver}\n`);
  if (boundDriver !== undefined) {
    await hardware.writeText(address, `${path}/driver/unbind`, address);
  }
  await whileUnbound(fn);
  await hardware.writeText(address, 'bus/pci/drivers_probe', address);
  // The kernel also reports success if no driver took the device.
  const link = sysfs.linkName(`${path}/driver`);
  if (link !== driver) {
    throw new Error(`the kernel bound it to ${link ?? 'no driver'}; is ${driver} loaded?`);
  }
}
