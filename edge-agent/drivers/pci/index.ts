// Whole PCI functions for passthrough: those on the operator's allow-list. One device per
// physical function; if its virtual functions are offered, each is a handle of the device.

import type { Clock } from '#agent/clock.ts';
import { createDates } from '#agent/drivers/contract/dated-health.ts';
import type { Driver, HandleWork } from '#agent/drivers/contract/driver.ts';
import type { Guards } from '#agent/guards/guards.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import type { Log } from '#agent/log.ts';
import {
  type PciFunction,
  pciSignature,
  readPciFunctionAt,
  readPciFunctions,
} from '#agent/sysfs/pci.ts';
import { parsePciAddress, printPciAddress } from '#agent/sysfs/pci-address.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { present } from '#core/shapes/derive/present.ts';
import { type AllowListEntry, matches } from './allow-list.ts';
import {
  type Choice,
  choosePciFunctions,
  findCompanions,
  readMissing,
  readWishes,
} from './choice.ts';
import { cardComponentVerbs } from './components.ts';
import { describeDevice, findPools, withFabric } from './describe.ts';
import { examineFabric, refuseBoards } from './fitness/boards.ts';
import { readDead } from './fitness/dead-functions.ts';
import {
  findUnbound,
  findUnfitFunctions,
  mayBeReplaced,
  type UnfitDeps,
  withhold,
} from './fitness/unfit-functions.ts';
import { createSerials, type Serials } from './naming/serials.ts';
import { createPartitions, type FabricManager } from './partitions.ts';
import { type PciPool, partitionedSets } from './pools.ts';
import { resetRungs } from './reset.ts';
import { type LadderDeps, resetByLadder } from './reset-ladder.ts';
import { planPci } from './setup.ts';

interface PciDriverDeps {
  readonly clock: Clock;
  /** The driver in whose name the devices are offered; `pci`, if absent. */
  readonly name?: string;
  readonly sysfs: Sysfs;
  readonly hardware: Hardware;
  readonly guards: Guards;
  readonly allowList: readonly AllowListEntry[];
  readonly log: Log;
  /** What the driver in whose name it is offered knows of the device beyond its ids. */
  readonly describe?: (choice: Choice) => Partial<Pick<ReportedDevice, 'model' | 'attributes'>>;
  /** Why the driver itself does not offer functions now, by address; asked at each discovery. */
  readonly withheld?: () => ReadonlyMap<string, string>;
  /** Addresses of the allow-list that offer nothing get a reason; a driver may have its own. */
  readonly namesMissing?: boolean;
  /** Those that entries of the allow-list name, where they are more than a name. */
  readonly pools?: readonly PciPool[];
  /** Activates the partitions of the pools' sets. */
  readonly fabricManager?: FabricManager;
  readonly prepared?: () => readonly HandleWork[];
  /** Addresses at which the driver works itself: they stay offered, and are not bound anew. */
  readonly busy?: ReadonlySet<string>;
  /** Whether the operator names a model by the entry, not only an address. */
  readonly namesIds?: (entry: AllowListEntry) => boolean;
  /** Those of set-up, if the driver in whose name it is offered plans it. */
  readonly failedBindings?: Map<string, string>;
  /** What it knows of a function after a reset. @throws if its state is not as it should be */
  readonly verify?: LadderDeps['verify'];
}

export function createPciDriver(options: PciDriverDeps): Driver {
  const maps = { failedBindings: new Map(), switchPorts: new Map() };
  const deps = { name: 'pci', ...maps, ...options };
  const serials = createSerials(deps.hardware);
  const partitions = openPartitions(deps);
  const healthSince = createDates(deps);
  /** A reset that takes a function from the bus for a moment: it stays what it was. */
  let away: Promise<unknown> = Promise.resolve();
  const whileAway: LadderDeps['whileAway'] = (work) => {
    const done = work();
    away = Promise.allSettled([away, done]);
    return done;
  };
  const driver: Driver = {
    name: deps.name,
    signature: () => pciSignature(deps.sysfs),
    plan: async () => {
      await away;
      return await planPci(deps);
    },
    discover: async () => {
      await away;
      const { reasons, fault } = (await partitions?.check()) ?? {};
      const { devices, refusals } = await discoverPci(deps, serials, reasons);
      for (const [name, device] of Object.entries(devices)) {
        if (!device.offers?.attach_handles.some((handle) => partitions?.setOf(handle))) continue;
        devices[name] = { ...device, ...present({ health: healthSince(name, fault) }) };
      }
      const notOffered = [...refusals].map(([address, reason]) => ({ address, reason }));
      return { devices, notOffered };
    },
    ...(partitions && {
      find: partitions.find,
      prepare: partitions.prepare,
      examineTools: async () => [await partitions.examineTool()],
    }),
    clean: async (handle) => {
      if (partitions?.setOf(handle)) return await partitions.clean(handle);
      const fn = readPciFunctionAt(deps.sysfs, handleAddress(handle));
      if (!fn) throw new Error(`The function ${handleAddress(handle)} is no longer there.`);
      const refusal = await deps.guards.recheck(fn.address, isOurs(deps));
      if (refusal) throw new Error(`The device at ${fn.address} ${refusal}.`);
      const refusalOf = (mate: PciFunction) => refusalOfMate(deps, mate);
      return await resetByLadder({ ...deps, rungs: rungsOf(deps, fn), refusalOf, whileAway }, fn);
    },
    ...(deps.allowList.some(({ components }) => components) && {
      components: cardComponentVerbs({
        ...deps,
        componentsOf: (fn) => deps.allowList.find((entry) => matches(entry, fn))?.components ?? [],
        checkFree: (fn) => checkFree(deps, fn),
      }),
    }),
    examine: () => {
      const { hostname } = deps.fabricManager ?? {};
      return examineFabric({ ...deps, hostname, isOwn: isOurs(deps), discover: driver.discover });
    },
  };
  return driver;
}

/** Why another function of the same bus must not be reset with one that is cleaned. */
async function refusalOfMate(deps: PciDriverDeps, mate: PciFunction) {
  const { address, boundDriver = 'vfio' } = mate;
  if (!isOurs(deps)(mate)) return 'is not in the settings';
  if (!boundDriver.includes('vfio')) return `is held by the host's driver ${boundDriver}`;
  return await deps.guards.recheck(address, isOurs(deps));
}

/** Those of the function's entry; all, if it is no longer in the settings. */
function rungsOf({ allowList, sysfs }: PciDriverDeps, fn: PciFunction) {
  const physical = readPciFunctionAt(sysfs, fn.physicalFunction ?? fn.address);
  return allowList.find((entry) => matches(entry, fn, physical))?.resets ?? resetRungs;
}

function openPartitions(deps: PciDriverDeps) {
  const { hardware, fabricManager, pools = [], prepared = () => [] } = deps;
  const sets = partitionedSets(pools);
  if (sets.length === 0 || !fabricManager) return undefined;
  const recheck = (address: string) => deps.guards.recheck(address, isOurs(deps));
  return createPartitions({ hardware, fabricManager, sets, prepared, recheck });
}

/** What a guest may have: the virtual functions of the card, or the card itself. */
async function checkFree(deps: PciDriverDeps, { address }: PciFunction): Promise<void> {
  const virtual = readPciFunctions(deps.sysfs, () => {}).filter(
    ({ physicalFunction }) => physicalFunction === address,
  );
  const offered = virtual.length > 0 ? virtual.map((fn) => fn.address) : [address];
  for (const each of offered) {
    const refusal = await deps.guards.recheck(each, isOurs(deps));
    if (refusal) throw new Error(`The device at ${each} ${refusal}.`);
  }
}

type Named = PciDriverDeps & UnfitDeps & Required<Pick<PciDriverDeps, 'name'>>;

/** @param withoutPartition why members of sets cannot have their partitions */
async function discoverPci(
  deps: Named,
  serials: Serials,
  withoutPartition: ReadonlyMap<string, string> = new Map(),
) {
  const { sysfs, allowList } = deps;
  const refusals = new Map<string, string>();
  const functions = readPciFunctions(sysfs, (address, reason) => refusals.set(address, reason));
  // A guest keeps a function that, or whose physical function, cannot be read for a moment.
  const unread = [...refusals.keys()].concat(
    functions.flatMap((fn) => (refusals.has(fn.physicalFunction ?? '') ? [fn.address] : [])),
  );
  const { wishes: all, refusals: unwanted } = readWishes(functions, allowList);
  // Before the guards, which note what they let pass as offered.
  const reasons = deps.withheld?.() ?? new Map<string, string>();
  const { wishes, withheld } = withhold(
    all,
    new Map([...reasons, ...findUnbound(deps, all), ...(await findUnfitFunctions(deps, all))]),
  );
  const dead = await readDead(
    deps,
    wishes.map(({ physical }) => physical),
  );
  const guarded = await deps.guards.check({
    driver: deps.name,
    wanted: wishes.flatMap((wish) => wish.functions),
    all: functions,
    isOurs: isOurs(deps, functions),
    ...present({ busy: deps.busy }),
    withheld: all
      .flatMap((wish) => wish.functions.map(({ address }) => address))
      .filter((address) => reasons.has(address))
      .concat(unread),
  });
  const chosen = choosePciFunctions(
    wishes.filter(({ physical }) => !dead.has(physical.address)),
    refuseBoards(deps.pools, wishes, functions, guarded),
    functions,
  );
  for (const each of [unwanted, withheld, chosen.refusals, dead]) {
    for (const [address, reason] of each) refusals.set(address, reason);
  }
  const missing = deps.namesMissing ? readMissing(functions, allowList) : [];
  for (const [address, reason] of missing) {
    if (!refusals.has(address)) refusals.set(address, reason);
  }
  for (const [address, reason] of withoutPartition) {
    const isHere = functions.some((fn) => fn.address === address);
    if (isHere && !refusals.has(address)) refusals.set(address, reason);
  }
  const chosenCards = new Set(chosen.choices.map(({ physical }) => physical.address));
  // Units of pools, too, which are offered in the name of their pool.
  const offered = wishes.filter(
    ({ entry, physical: { address } }) =>
      chosenCards.has(address) || (entry.pool !== undefined && !refusals.has(address)),
  );
  const offeredCards = offered.map(({ physical }) => physical);
  const identities = await serials.read(offeredCards);
  const replaceable = new Set(
    offered.flatMap((each) => (mayBeReplaced(deps, each) ? [each.physical] : [])),
  );
  const others = await deps.guards.keepCards(offeredCards, identities, (card) =>
    replaceable.has(card),
  );
  for (const [address, reason] of others) refusals.set(address, reason);
  const describer = await withFabric(deps, all, functions);
  const devices: Record<string, ReportedDevice> = {};
  for (const choice of chosen.choices) {
    const { address } = choice.physical;
    if (others.has(address)) continue;
    devices[address] = describeDevice(describer, choice, identities.get(address));
  }
  const pooled = findPools(describer, all, refusals);
  for (const [address, reason] of pooled.refusals) refusals.set(address, reason);
  return { devices: { ...devices, ...pooled.devices }, refusals };
}

/** Whether the operator gave a function, its physical function, or its card to this driver. */
function isOurs({ allowList, sysfs }: PciDriverDeps, all: readonly PciFunction[] = []) {
  const entries = allowList.filter(({ companions }) => companions);
  const isCompanion = (fn: PciFunction) =>
    entries.length > 0 &&
    readNeighbours(fn).some((address) => {
      const physical = readPciFunctionAt(sysfs, address);
      return (
        physical !== undefined &&
        entries.some(
          (entry) =>
            matches(entry, physical) && findCompanions({ physical, entry }, [fn]).length > 0,
        )
      );
    });
  return (fn: PciFunction) => {
    const { physicalFunction } = fn;
    const physical = physicalFunction
      ? (all.find(({ address }) => address === physicalFunction) ??
        readPciFunctionAt(sysfs, physicalFunction))
      : undefined;
    return allowList.some((entry) => matches(entry, fn, physical)) || isCompanion(fn);
  };
}

/** Addresses of the other functions that its slot may have. */
function readNeighbours({ address }: PciFunction): string[] {
  const slot = address.slice(0, -1);
  return [0, 1, 2, 3, 4, 5, 6, 7].map((fn) => `${slot}${fn}`).filter((each) => each !== address);
}

/** @throws if the handle names no PCI function */
export function handleAddress({ info }: Pick<HandleWork, 'info'>): string {
  const [address] = infoAddress(info);
  if (address === undefined) throw new Error('The handle names no PCI function.');
  return address;
}

/** The PCI functions of the attach handles that the device itself offers. */
export function offeredAddresses({ offers }: ReportedDevice): string[] {
  return (offers?.attach_handles ?? []).flatMap(({ info }) => infoAddress(info));
}

function infoAddress({ domain, bus, device, function: fn }: HandleWork['info']): string[] {
  const parsed = parsePciAddress(`${domain}:${bus}:${device}.${fn}`);
  return parsed ? [printPciAddress(parsed)] : [];
}
