// GPUs of Intel and AMD that are divided into virtual functions by SR-IOV. A function is offered
// only with the share of the card that the settings give it; making, binding and resetting
// functions is done by driver `pci`.

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { Driver, HandleWork } from '#agent/drivers/contract/driver.ts';
import type { AllowListEntry } from '#agent/drivers/pci/allow-list.ts';
import { createPciDriver, handleAddress } from '#agent/drivers/pci/index.ts';
import { reasonOf } from '#agent/log.ts';
import {
  type PciFunction,
  pciSignature,
  readPciFunctionAt,
  readPciFunctions,
} from '#agent/sysfs/pci.ts';
import type { Evidence } from '#core/contracts/jobs/job-document.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { describedGpu, gpuVendors, readHealth } from './describe.ts';
import { numberedFunctions, planGpuVfs } from './plan.ts';
import { type GpuVfCards, type GpuVfSettings, gpuVfName as name } from './settings.ts';
import { type GpuCard, readShares, type SharesFound, shareValues } from './shares.ts';

/** What a discovery has found of one card. */
interface CardState {
  readonly card: GpuCard;
  readonly shares: SharesFound;
  /** Why functions are not as the settings say. */
  readonly reasons: readonly string[];
  /** Addresses of the functions that are as wanted. */
  readonly asWanted: ReadonlySet<string>;
  /** Address of another function → why it is not offered. */
  readonly refusals: ReadonlyMap<string, string>;
}

export function createGpuVfDriver(settings: GpuVfSettings, context: DriverContext): Driver {
  const { sysfs, guards, clock } = context;
  const byAddress = new Map(
    settings.cards.flatMap((cards) => cards.addresses.map((address) => [address, cards] as const)),
  );
  /** When the driver began to look. */
  let since: string | undefined;
  let states: ReadonlyMap<string, CardState> = new Map();
  const pci = createPciDriver({
    ...context,
    name,
    allowList: [...byAddress].flatMap(([address, cards]) => toEntries(address, cards)),
    withheld: () =>
      new Map(
        readPciFunctions(sysfs, () => {}).flatMap((fn) => {
          const { address, physicalFunction: card = '' } = fn;
          // Those offered stay, as a guest may have them.
          if (!byAddress.has(card) || guards.isOffered(address)) return [];
          const reason = findRefusal(states.get(card), address);
          return reason === undefined ? [] : [[address, reason] as const];
        }),
      ),
  });
  const cardsNow = () =>
    [...byAddress].flatMap(([address, cards]) => cardAt(context, address, cards) ?? []);
  return {
    name,
    signature: () => pciSignature(sysfs),
    plan: async () => planGpuVfs(context, cardsNow(), (await pci.plan?.()) ?? []),
    discover: async () => {
      since ??= new Date(clock.wallMs()).toISOString();
      const next = new Map<string, CardState>();
      for (const card of cardsNow()) {
        const state = readState(context, card).catch((error: unknown) =>
          refused(card, `cannot be read (${reasonOf(error)})`.slice(0, 200)),
        );
        next.set(card.fn.address, await state);
      }
      states = next;
      const { devices, notOffered = [] } = await pci.discover();
      const described: Record<string, ReportedDevice> = {};
      for (const [address, device] of Object.entries(devices)) {
        const state = next.get(address);
        if (!state) continue;
        const [drift] = state.reasons;
        const health = await shownHealth(context, state.card.fn, since, drift);
        described[address] = describedGpu(context, device, state.card, state.shares, health);
      }
      const said = new Set(notOffered.map((each) => each.address));
      const missing = [...byAddress.keys()].flatMap((address) => {
        if (described[address] || said.has(address)) return [];
        const reason = next.get(address)?.reasons[0] ?? explainAbsence(context, address);
        return reason === undefined ? [] : [{ address, reason }];
      });
      return { devices: described, notOffered: [...notOffered, ...missing] };
    },
    clean: async (handle, onProgress) => {
      const cards = byAddress.get(handle.address);
      const card = cards && cardAt(context, handle.address, cards);
      if (!card) throw new Error(`The card ${handle.address} is not offered any more.`);
      return await cleaned(context, card, handle, () => pci.clean?.(handle, onProgress));
    },
  };
}

/** One for each vendor, because an entry names one. */
function toEntries(address: string, cards: GpuVfCards): AllowListEntry[] {
  return Object.keys(gpuVendors).map((vendor) => ({
    vendor_id: vendor,
    address,
    device_type: 'GPU',
    companions: false,
    resource_class: cards.resource_class,
    traits: cards.traits,
    virtual_functions: cards.virtual_functions,
    bind_to: cards.bind_to,
    clean: cards.clean,
  }));
}

/** Undefined for what is not there, cannot be read, or is no card of these vendors. */
function cardAt(context: DriverContext, address: string, cards: GpuVfCards): GpuCard | undefined {
  const fn = functionAt(context, address);
  if (!fn || fn.physicalFunction || !gpuVendors[fn.vendorId]) return undefined;
  return { fn, settings: cards };
}

function functionAt({ sysfs }: DriverContext, address: string): PciFunction | undefined {
  try {
    return readPciFunctionAt(sysfs, address);
  } catch {
    return undefined;
  }
}

/** Why a named address has no card. */
function explainAbsence(context: DriverContext, address: string): string | undefined {
  const fn = functionAt(context, address);
  if (!fn) return 'is not on this host';
  if (fn.physicalFunction) return `is a virtual function: name its card, ${fn.physicalFunction}`;
  if (gpuVendors[fn.vendorId]) return undefined;
  return `is of vendor ${fn.vendorId}, and not of Intel (8086) or AMD (1002)`;
}

const nothing: SharesFound = { values: [], wrong: [], texts: new Map() };

function refused(card: GpuCard, reason: string, shares = nothing): CardState {
  return { card, shares, reasons: [reason], asWanted: new Set(), refusals: new Map() };
}

async function readState(context: DriverContext, card: GpuCard): Promise<CardState> {
  const { address } = card.fn;
  const { virtual_functions: count } = card.settings;
  const made = numberedFunctions(context, address);
  if (made.length !== count) {
    const has = made.length === 0 ? 'no' : String(made.length);
    return refused(card, `has ${has} virtual functions, not ${count}`);
  }
  const values = shareValues(context, card);
  if (typeof values === 'string') return refused(card, values);
  const shares = await readShares(values);
  const ofCard = shares.wrong.find(({ value }) => value.number === undefined);
  if (ofCard) return refused(card, ofCard.reason, shares);
  const refusals = new Map<string, string>();
  for (const { number, fn } of made) {
    const wrong = shares.wrong.find(({ value }) => value.number === number);
    if (wrong) refusals.set(fn.address, wrong.reason);
  }
  const right = made.map(({ fn }) => fn.address).filter((each) => !refusals.has(each));
  const reasons = shares.wrong.map(({ reason }) => reason);
  return { card, shares, reasons, asWanted: new Set(right), refusals };
}

/** Why a virtual function is not offered; undefined if it is as wanted. */
function findRefusal(state: CardState | undefined, address: string): string | undefined {
  if (state?.asWanted.has(address)) return undefined;
  const [first = 'has come while the shares were read'] = state?.reasons ?? [];
  return state?.refusals.get(address) ?? first;
}

/** A card whose health cannot be read stays in the report. */
async function shownHealth(
  context: DriverContext,
  fn: PciFunction,
  since: string,
  drift: string | undefined,
): Promise<ReportedDevice['health']> {
  try {
    return await readHealth(context, fn, since, drift);
  } catch (error) {
    const reason = `has an unknown health (${reasonOf(error)})`.slice(0, 200);
    return { state: 'degraded', reason, since };
  }
}

/** The reset makes the PF driver erase the function's memory; its share must be the same after. */
async function cleaned(
  context: DriverContext,
  card: GpuCard,
  handle: HandleWork,
  reset: () => Promise<Evidence> | undefined,
): Promise<Evidence> {
  const address = handleAddress(handle);
  const health = await readHealth(context, card.fn, new Date(context.clock.wallMs()).toISOString());
  if (health?.state === 'unhealthy') {
    throw new Error(`The card ${card.fn.address} ${health.reason}.`);
  }
  const evidence = (await reset()) ?? {};
  const { number } =
    numberedFunctions(context, card.fn.address).find(({ fn }) => fn.address === address) ?? {};
  if (number === undefined)
    throw new Error(`The card has no virtual function ${address} any more.`);
  const values = shareValues(context, card);
  if (typeof values === 'string') throw new Error(`The card ${card.fn.address} ${values}.`);
  const { wrong, texts: found } = await readShares(
    values.filter((value) => (value.number ?? number) === number && value.expected !== undefined),
  );
  if (wrong[0]) throw new Error(`The card ${card.fn.address} ${wrong[0].reason}, after the reset.`);
  return { ...evidence, virtual_function: number, shares_verified: found.size };
}
