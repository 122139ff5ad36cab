// Network cards, as a whole or by their virtual functions: found, guarded, made and bound like
// other PCI functions. After a holder the physical function gets back what it held of the virtual
// one: its MAC address, VLAN, rates, trust, spoof check and link state.

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type {
  Driver,
  HandleWork,
  HostChange,
  NotOffered,
  Observation,
} from '#agent/drivers/contract/driver.ts';
import { examineToolVersion } from '#agent/drivers/contract/tool-version.ts';
import { createPciDriver, handleAddress } from '#agent/drivers/pci/index.ts';
import { functionCount } from '#agent/drivers/pci/setup.ts';
import { iproute2Releases } from '#agent/hardware/devlink.ts';
import { reasonOf } from '#agent/log.ts';
import {
  cardIds,
  type PciFunction,
  pciSignature,
  readIfReadable,
  readPciFunctionAt,
  readPciFunctions,
} from '#agent/sysfs/pci.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { nicComponents } from './components.ts';
import { createNicFacts, type NicFacts, type NicLook } from './facts.ts';
import type { FunctionSettings } from './function.ts';
import { createPorts, type Ports, usedRepresentor } from './link.ts';
import { openRecords, type Records } from './records.ts';
import { functionNumber, restoreFunction } from './restore.ts';
import {
  cardsByAddress,
  isByFunctions,
  type NicCard,
  type NicSettings,
  networkClass,
  toAllowList,
} from './settings.ts';

const name = 'nic';
/** The reset, and what iproute2 is asked for afterwards. */
const cleanSeconds = 240;

interface NicState {
  readonly context: DriverContext;
  readonly cards: ReadonlyMap<string, NicCard>;
  readonly ports: Ports;
  readonly records: Records;
  /** Cards on which devlink works. */
  readonly busy: ReadonlySet<string>;
}

export function createNicDriver(settings: NicSettings, context: DriverContext): Driver {
  const { sysfs, hardware } = context;
  const cards = cardsByAddress(settings);
  const ports = createPorts(context);
  const records = openRecords(context.directory);
  const busy = new Set<string>();
  const state: NicState = { context, cards, ports, records, busy };
  const facts = createNicFacts(context, ports, busy);
  const allowList = toAllowList(settings);
  const programs = nicComponents({ context, cards, onReload: facts.forgetFirmware, busy });
  /** Results of the discovery that is under way; there is one at a time. */
  let looks: ReadonlyMap<string, Looked> = new Map();
  const pci = createPciDriver({
    ...context,
    name,
    allowList,
    withheld: () => new Map([...looks.values()].flatMap((each) => [...each.withheld])),
  });
  return {
    name,
    signature: () => pciSignature(sysfs),
    plan: async () => {
      const changes = (await pci.plan?.()) ?? [];
      return await Promise.all(changes.map((change) => guardedChange(state, change)));
    },
    discover: async () => {
      await records.keepOnly((card) => cards.has(card));
      looks = await lookAndRemember(state, facts);
      const discovery = await pci.discover();
      const notOffered = [...(discovery.notOffered ?? [])];
      const devices: Record<string, ReportedDevice> = {};
      for (const [address, device] of Object.entries(discovery.devices)) {
        const described = await describeCard(state, facts, device, looks.get(address)).catch(
          reasonOf,
        );
        if (typeof described !== 'string') devices[address] = described;
        else notOffered.push({ address, reason: toClause(described) });
      }
      const said = new Set([
        ...Object.keys(discovery.devices),
        ...notOffered.map((e) => e.address),
      ]);
      return { devices, notOffered: [...notOffered, ...findMissing(state, said)] };
    },
    clean: async (handle, onProgress) => {
      const evidence = (await pci.clean?.(handle, onProgress)) ?? {};
      const card = cards.get(handle.address);
      const address = handleAddress(handle);
      if (address === handle.address || card?.clean !== 'restore') return evidence;
      const recorded = await readRecord(state, handle, address);
      const deps = { sysfs, hardware, ports, clock: context.clock };
      return { ...evidence, ...(await restoreFunction(deps, handle.address, address, recorded)) };
    },
    examineTools: () => examineNicTools([...cards.values()], context),
    ...([...cards.values()].some(({ components }) => components.length > 0) && {
      components: programs,
    }),
  };
}

async function examineNicTools(
  cards: readonly NicCard[],
  { hardware }: DriverContext,
): Promise<readonly Observation[]> {
  const programs = [
    ...(cards.some(isByFunctions) ? ['ip'] : []),
    ...(cards.some(({ components }) => components.length > 0) ? ['devlink'] : []),
  ];
  const examine = (program: string) => {
    const name = `${program} of iproute2`;
    const tool = { name, program, args: ['-V'], releases: iproute2Releases };
    return examineToolVersion(hardware, tool);
  };
  return await Promise.all(programs.map(examine));
}

async function readRecord({ context, records }: NicState, handle: HandleWork, address: string) {
  const fn = readPciFunctionAt(context.sysfs, handle.address);
  return fn && (await records.get(address, cardIds(fn)));
}

/** Another number of virtual functions takes away their representors. */
async function guardedChange(state: NicState, change: HostChange): Promise<HostChange> {
  const { address, what } = change;
  if (!('apply' in change) || what !== functionCount) return change;
  const { apply, ...difference } = change;
  const refusal = await findRefusal(state, address);
  if (refusal !== undefined) return { ...difference, refusal };
  return {
    ...difference,
    apply: async () => {
      const refused = await findRefusal(state, address);
      if (refused !== undefined) throw new Error(refused);
      await apply();
    },
  };
}

async function findRefusal(
  { context, ports, busy }: NicState,
  address: string,
): Promise<string | undefined> {
  if (busy.has(address)) return `${address} is being programmed`;
  const fn = readPciFunctionAt(context.sysfs, address);
  if (!fn) return `${address} is no longer there`;
  const interfaces = await ports.interfacesOf(fn).catch(() => undefined);
  return interfaces && usedRepresentor(context.sysfs, fn, interfaces);
}

interface Looked {
  readonly fn: PciFunction;
  readonly look: NicLook;
  /** Virtual functions that could not be restored after a holder, with the reason. */
  readonly withheld: ReadonlyMap<string, string>;
}

/** Before the guards note that functions are offered: from then on a guest may have them. */
async function lookAndRemember(state: NicState, facts: NicFacts): Promise<Map<string, Looked>> {
  const looks = new Map<string, Looked>();
  // What cannot be read is reported by the discovery of driver `pci`.
  const functions = readPciFunctions(state.context.sysfs, () => {});
  for (const fn of functions) {
    const card = state.cards.get(fn.address);
    if (!card || fn.physicalFunction || !fn.classCode.startsWith(networkClass)) continue;
    const look = await facts.look(fn);
    const virtual = functions.filter((each) => each.physicalFunction === fn.address);
    const withheld = await remember(state, fn, isRestored(card) ? virtual : [], look);
    looks.set(fn.address, { fn, look, withheld });
  }
  return looks;
}

function isRestored(card: NicCard): boolean {
  return isByFunctions(card) && card.clean === 'restore';
}

/** @returns why functions cannot be restored after a holder */
async function remember(
  { context, records }: NicState,
  card: PciFunction,
  virtual: readonly PciFunction[],
  look: NicLook,
): Promise<ReadonlyMap<string, string>> {
  const { sysfs, guards } = context;
  const ids = cardIds(card);
  const unseen: PciFunction[] = [];
  for (const fn of virtual) {
    // One that was offered without a record has what a holder left, and gets the defaults.
    const isKnown = (await records.get(fn.address, ids)) ?? guards.isOffered(fn.address);
    if (!isKnown) unseen.push(fn);
  }
  if (unseen.length === 0) return new Map();
  if ('fault' in look) return new Map(unseen.map(({ address }) => [address, look.fault]));
  const held = await guards.heldBy(unseen, false);
  const shown = new Map<string, FunctionSettings>();
  const withheld = new Map<string, string>();
  for (const { address } of unseen) {
    const number = functionNumber(sysfs, card, address);
    const settings = number === undefined ? undefined : look.link.functions.get(number);
    const use = held.get(address);
    if (use !== undefined) withheld.set(address, use);
    else if (settings) shown.set(address, settings);
    else withheld.set(address, `is not shown by the interface ${look.link.name} of its card`);
  }
  await records.keep(card.address, ids, shown);
  return withheld;
}

/** @throws a clause why the card is not offered */
async function describeCard(
  { cards }: NicState,
  facts: NicFacts,
  device: ReportedDevice,
  looked: Looked | undefined,
): Promise<ReportedDevice> {
  const card = cards.get(device.address);
  if (!card || !looked) throw new Error('is no longer there');
  const { fn, look } = looked;
  // Known functions stay offered, and can be cleaned when the card answers again.
  const fault = isRestored(card) && 'fault' in look ? look.fault : undefined;
  return withCard(await facts.describe(device, fn, look, fault), card);
}

function withCard(
  device: ReportedDevice,
  { physical_network: network, clean }: NicCard,
): ReportedDevice {
  const { offers, address } = device;
  return {
    ...device,
    ...(offers && {
      offers: {
        ...offers,
        attach_handles: offers.attach_handles.map((handle) => ({
          ...handle,
          info: { ...handle.info, ...(network && { physical_network: network }) },
          ...(clean === 'restore' &&
            handleAddress(handle) !== address && { clean_seconds: cleanSeconds }),
        })),
      },
    }),
  };
}

function toClause(text: string): string {
  return text.replace(/\.$/, '').slice(0, 255);
}

/** What the settings name and the discovery of PCI functions lacks. */
function findMissing({ context, cards }: NicState, said: ReadonlySet<string>): NotOffered[] {
  const { sysfs } = context;
  const functions = readPciFunctions(sysfs, () => {});
  return [...cards].flatMap(([address, card]) => {
    if (said.has(address)) return [];
    const fn = functions.find((each) => each.address === address);
    const virtual = functions.filter((each) => each.physicalFunction === address);
    // The reasons of virtual functions are named at their own addresses.
    if (virtual.some((each) => said.has(each.address))) return [];
    return [{ address, reason: reasonAt(context, fn, card) }];
  });
}

function reasonAt({ sysfs }: DriverContext, fn: PciFunction | undefined, card: NicCard): string {
  if (!fn) return 'is not on this host';
  const { physicalFunction, classCode, path } = fn;
  if (physicalFunction) return `is a virtual function: name its card, ${physicalFunction}`;
  if (!classCode.startsWith(networkClass)) {
    return `has class ${classCode}, and network cards have class ${networkClass}`;
  }
  if (!isByFunctions(card)) return 'is not offered';
  if (readIfReadable(sysfs, `${path}/sriov_totalvfs`) === undefined) return 'has no SR-IOV';
  return typeof card.virtual_functions === 'number'
    ? 'has no virtual functions yet: the command plan prints why'
    : 'has no virtual functions: set virtual_functions to a number, or make them otherwise';
}
