// Alveo cards of AMD, formerly Xilinx. A card is one region with two attach handles, its
// management and its user function: both go to one guest, as in Cyborg. At rest both are on the
// VFIO driver; for programming and cleaning they go to XRT's drivers.

import { createDeviceLocks, type DeviceLocks } from '#agent/device-locks.ts';
import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { Driver, HostChange, NotOffered } from '#agent/drivers/contract/driver.ts';
import { aerHealth } from '#agent/drivers/pci/health.ts';
import { modelName } from '#agent/drivers/pci/naming/names.ts';
import { bindFunction } from '#agent/drivers/pci/setup.ts';
import { HardwareError } from '#agent/hardware/errno.ts';
import { checkXclbin, shownUuid } from '#agent/images/xclbin.ts';
import { reasonOf } from '#agent/log.ts';
import { type PciFunction, pciSignature, readPciFunctions, readPlace } from '#agent/sysfs/pci.ts';
import { parsePciAddress } from '#agent/sysfs/pci-address.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { present } from '#core/shapes/derive/present.ts';
import { type Card, type CardFacts, cardAt, openKnownCards } from './cards.ts';
import { xilinxName as name, type XilinxCards, type XilinxSettings } from './settings.ts';
import { alveoComponents } from './shells.ts';
import { examineXrt } from './tools.ts';
import { cardFunctions, clean, cleanRefusal, learn, program, type Work } from './work.ts';

const regionName = 'region0';
/** A reset, and a program of one minute, beside the tool's own limit. */
const cleanExtraSeconds = 180;

export function createXilinxDriver(settings: XilinxSettings, context: DriverContext): Driver {
  const { sysfs, clock } = context;
  const records = openKnownCards(context.directory);
  const byAddress = new Map(
    settings.cards.flatMap((cards) => cards.addresses.map((address) => [address, cards] as const)),
  );
  /** Lost with the agent: the job begins anew. */
  const busy = new Set<string>();
  /** One lock per card: the set-up and a job never move its functions at the same time. */
  const locks = createDeviceLocks();
  let since: string | undefined;
  const toWork = (card: Card): Work => ({ settings, context, records, card, busy });
  const mustHave = async (address: string) => {
    const cards = byAddress.get(address);
    if (!cards) throw new Error(`The card ${address} is not offered any more.`);
    const card = cardAt(sysfs, address);
    if (typeof card === 'string') throw new Error(`The device at ${address} ${card}.`);
    const facts = await records.get(card);
    if (!facts) throw new Error(`The card ${address} is not the one that was read.`);
    return { given: cards, facts, work: toWork(card) };
  };
  return {
    name,
    signature: () => pciSignature(sysfs),
    plan: async () => {
      const changes: HostChange[] = [];
      for (const address of byAddress.keys()) {
        const card = cardIfReadable(context, address);
        if (typeof card === 'string') continue;
        const facts = await records.get(card);
        const isKnown = facts && (facts.flashed ?? context.bootId) === context.bootId;
        const planned = await planCard(toWork(card), isKnown === true);
        changes.push(...planned.map((change) => lockedChange(locks, busy, card, change)));
      }
      return changes;
    },
    discover: async () => {
      since ??= new Date(clock.wallMs()).toISOString();
      const devices: Record<string, ReportedDevice> = {};
      const notOffered: NotOffered[] = [];
      const cardsFound = await discovered(context, [...byAddress.keys()], busy);
      const read = new Map<string, CardFacts>();
      for (const [address, card] of cardsFound) {
        const facts = typeof card === 'string' ? undefined : await records.get(card);
        if (facts) read.set(address, facts);
      }
      const twins = serialsOfMany([...read.values()]);
      for (const [address, cards] of byAddress) {
        const card = cardsFound.get(address);
        const facts = read.get(address);
        const refusal =
          facts && (await cleanRefusal({ settings, context }, facts, cards.blank_image));
        if (typeof card === 'object' && facts && refusal === undefined) {
          const shownFacts = {
            ...facts,
            ...(twins.has(facts.serial ?? '') && { serial: undefined }),
          };
          devices[address] = describe({ context, settings, cards, card, facts: shownFacts, since });
          continue;
        }
        const unread = refusal ?? 'was not read by its drivers yet';
        const reason = typeof card === 'string' ? card : unread;
        notOffered.push({ address, reason });
      }
      return { devices, notOffered };
    },
    examineTools: () => examineXrt(settings, context.hardware),
    clean: ({ address }, onProgress) =>
      locks.hold([address], async () => {
        const { given: cards, facts, work } = await mustHave(address);
        return await clean(work, facts, cards.blank_image, onProgress);
      }),
    components: alveoComponents({
      find: mustHave,
      hold: (address, act) => locks.hold([address], act),
    }),
    images: {
      check: checkXclbin,
      write: async ({ address, region, imageId, imagePath }, onProgress) => {
        if (region !== regionName) throw new HardwareError('ENODEV', `no region ${region}`);
        await locks.hold([address], async () => {
          const { facts, work } = await mustHave(address);
          await program(work, facts, { imagePath, imageId }, onProgress);
        });
      },
    },
  };
}

function cardIfReadable({ sysfs }: DriverContext, address: string): Card | string {
  try {
    return cardAt(sysfs, address);
  } catch (error) {
    return `cannot be read (${reasonOf(error)})`.slice(0, 255);
  }
}

/** Address → the card, or why it is not offered. */
async function discovered(
  context: DriverContext,
  addresses: readonly string[],
  busy: ReadonlySet<string>,
): Promise<ReadonlyMap<string, Card | string>> {
  const { sysfs, guards, hardware } = context;
  const cardsFound = new Map<string, Card | string>();
  for (const address of addresses) cardsFound.set(address, cardIfReadable(context, address));
  const cards = [...cardsFound.values()].filter((each) => typeof each !== 'string');
  const functions = cards.flatMap(cardFunctions);
  const unread = addresses.filter((address) => typeof cardsFound.get(address) === 'string');
  // A card that hangs stays in the report; configuration space alone is read from the device.
  const heads = await hardware.readStarts(
    functions.map(({ address, path }) => ({ device: address, path: `${path}/config` })),
  );
  const dead = new Map<string, string>();
  for (const [index, { address }] of functions.entries()) {
    const reason = deadReason(heads[index]);
    if (reason !== undefined) dead.set(address, reason);
  }
  const ours = new Set(functions.map((fn) => fn.address));
  const refused = await guards.check({
    driver: name,
    wanted: functions,
    busy: new Set([...busy, ...(await interrupted(context, cards))]),
    all: readPciFunctions(sysfs, () => {}),
    isOurs: (fn: PciFunction) => ours.has(fn.address),
    // A guest keeps a card that cannot be read for a moment.
    withheld: presentInSlots(context, unread),
  });
  for (const card of cards) {
    const both = cardFunctions(card).map((fn) => fn.address);
    const [reason] = both.flatMap((each) => dead.get(each) ?? refused.get(each) ?? []);
    if (reason !== undefined) cardsFound.set(card.management.address, reason);
  }
  return cardsFound;
}

/** Addresses of all functions in the slots that the host lists now, readable or not. */
function presentInSlots({ sysfs }: DriverContext, addresses: readonly string[]): string[] {
  const slots = new Set(addresses.map((address) => address.slice(0, -1)));
  const all = sysfs.list('bus/pci/devices') ?? [];
  return all.filter((address) => slots.has(address.slice(0, -1)));
}

/**
 * Functions of cards that an earlier agent had worked at when it ended: they are offered, and on
 * XRT's drivers. The guards would take each for used by the host because of the other one.
 */
async function interrupted({ guards }: DriverContext, cards: readonly Card[]): Promise<string[]> {
  const left = cards.map(cardFunctions).filter((functions) => {
    const isLeft = functions.some(({ boundDriver = '' }) => /^(xclmgmt|xocl)$/.test(boundDriver));
    return isLeft && functions.every(({ address }) => guards.isOffered(address));
  });
  if (left.length === 0) return [];
  const held = await guards.heldBy(left.flat(), true);
  const free = left.filter((functions) => functions.every(({ address }) => !held.has(address)));
  return free.flat().map(({ address }) => address);
}

function deadReason(head: Buffer | HardwareError | undefined): string | undefined {
  if (head instanceof HardwareError) {
    const isThere = head.code === 'EBUSY' || head.code === 'ETIMEDOUT';
    return isThere ? undefined : `cannot be read (${head.code})`;
  }
  return head?.length === 4 && head.readUInt16LE(0) !== 0xffff ? undefined : 'fell off the bus';
}

async function planCard(work: Work, isKnown: boolean): Promise<HostChange[]> {
  const { card, context, settings, busy } = work;
  const { address } = card.management;
  const functions = cardFunctions(card);
  const held = await context.guards.heldBy(functions, true);
  const [use] = held;
  const refusal = use && `${use[0]} ${use[1]}`;
  if (!isKnown) {
    const difference = { address, what: 'shell', before: 'unknown', after: 'read by its drivers' };
    if (refusal !== undefined) return [{ ...difference, refusal }];
    return [{ ...difference, apply: () => learn(work) }];
  }
  return functions.flatMap((fn): HostChange[] => {
    const { boundDriver = 'none' } = fn;
    if (boundDriver === settings.bind_to || busy.has(fn.address)) return [];
    const difference = {
      address: fn.address,
      what: 'driver',
      before: boundDriver,
      after: settings.bind_to,
    };
    if (refusal !== undefined) return [{ ...difference, refusal }];
    const apply = () => bindFunction(context, fn.address, settings.bind_to);
    return [{ ...difference, apply }];
  });
}

/** A job may have begun since the change was planned. */
function lockedChange(
  locks: DeviceLocks,
  busy: ReadonlySet<string>,
  { management: { address } }: Card,
  change: HostChange,
): HostChange {
  if (!('apply' in change)) return change;
  return {
    ...change,
    apply: async () => {
      if (busy.has(address)) throw new Error(`${address} is being programmed or cleaned`);
      await locks.hold([address], change.apply);
    },
  };
}

/** Two cards with one serial number have no identity by it. */
function serialsOfMany(all: readonly CardFacts[]): ReadonlySet<string> {
  const bySerial = Map.groupBy(all, ({ serial }) => serial ?? '');
  return new Set([...bySerial].flatMap(([serial, same]) => (same.length > 1 ? [serial] : [])));
}

interface Described {
  readonly context: DriverContext;
  readonly settings: XilinxSettings;
  readonly cards: XilinxCards;
  readonly card: Card;
  readonly facts: CardFacts;
  readonly since: string;
}

/** With the names of Cyborg's xilinx_fpga_driver: one accelerator, and a handle per function. */
function describe({ context, settings, cards, card, facts, since }: Described): ReportedDevice {
  const { management, user } = card;
  const { serial, board, firmware, interfaces, platforms, content } = facts;
  const [health] = [management, user].flatMap((fn) => aerHealth(context.sysfs, fn, since) ?? []);
  const isLoaded = content?.boot_id === context.bootId;
  const product = management.productId.toUpperCase();
  const shownFacts = ['CUSTOM_FPGA_XILINX', `CUSTOM_FPGA_PRODUCT_ID_${product}`];
  return {
    address: management.address,
    driver: name,
    type: 'FPGA',
    vendor: management.vendorId,
    product: management.productId,
    model: board ?? modelName(management) ?? management.productId,
    std_board_info: JSON.stringify({
      product_id: management.productId,
      class: `0x${management.classCode}`,
    }),
    vendor_board_info: 'miss_vb_info',
    ...(serial && { identity: serial }),
    ...(firmware && { firmware }),
    ...present({ health }),
    ...readPlace(context.sysfs, management),
    attributes: { platform: platforms.at(-1) ?? '', user_function: user.address },
    regions: [
      {
        name: regionName,
        kind: 'reconfigurable-region',
        'region-type-uuid': shownUuid(interfaces.at(-1) ?? ''),
        ...(isLoaded && { 'bitstream-id': content.image, 'function-uuid': content.function }),
        resource_class: cards.resource_class,
        traits: [...new Set([...shownFacts, ...cards.traits])],
        num_accelerators: 1,
        attach_handles: cardFunctions(card).map(({ address }) => ({
          type: 'PCI',
          info: { ...parsePciAddress(address) },
          clean_seconds: settings.tool_seconds * 2 + cleanExtraSeconds,
        })),
      },
    ],
  };
}
