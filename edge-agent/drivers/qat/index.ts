// Intel QuickAssist cards, by their virtual functions or as a whole, with traits for the services
// that they run. A card that does not answer its heartbeat is unhealthy.

import { createDates, type UndatedHealth } from '#agent/drivers/contract/dated-health.ts';
import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { Driver, NotOffered } from '#agent/drivers/contract/driver.ts';
import { aerHealth } from '#agent/drivers/pci/health.ts';
import { createPciDriver } from '#agent/drivers/pci/index.ts';
import { reasonOf } from '#agent/log.ts';
import {
  type PciFunction,
  pciSignature,
  readPciFunctionAt,
  readPciFunctions,
} from '#agent/sysfs/pci.ts';
import type { Evidence } from '#core/contracts/jobs/job-document.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { present } from '#core/shapes/derive/present.ts';
import {
  findChip,
  findFamily,
  type QatFiles,
  readFiles,
  readHeartbeat,
  readRas,
  virtualFunctions,
} from './card.ts';
import { isSameServices } from './families.ts';
import { cardsByAddress, type QatCard, type QatSettings, toAllowList } from './settings.ts';
import { planQat, shown } from './setup.ts';

const name = 'qat';

interface Looked {
  readonly fn: PciFunction;
  /** Or a clause why the card is not offered. */
  readonly files: QatFiles | string;
}

export function createQatDriver(settings: QatSettings, context: DriverContext): Driver {
  const { sysfs } = context;
  const cards = cardsByAddress(settings);
  const dated = createDates(context);
  /** Results of the discovery that is under way; there is one at a time. */
  let looks: ReadonlyMap<string, Looked> = new Map();
  const failedBindings = new Map<string, string>();
  const pci = createPciDriver({
    ...context,
    name,
    failedBindings,
    verify: async ({ address, physicalFunction = address }) => {
      const card = readPciFunctionAt(sysfs, physicalFunction);
      if (!card) throw new Error(`The card ${physicalFunction} is no longer there.`);
      return await verified(context, card);
    },
    allowList: toAllowList(cards),
    withheld: () => findWithheld(context, looks),
  });
  return {
    name,
    signature: () => pciSignature(sysfs),
    plan: () => planQat(context, cards, failedBindings),
    discover: async () => {
      looks = await lookAt(context, cards);
      const discovery = await pci.discover();
      const devices: Record<string, ReportedDevice> = {};
      for (const [address, device] of Object.entries(discovery.devices)) {
        const looked = looks.get(address);
        if (!looked || typeof looked.files === 'string') continue;
        devices[address] = await described(context, device, looked.fn, looked.files, dated);
      }
      const notOffered = discovery.notOffered ?? [];
      const said = new Set([...Object.keys(devices), ...notOffered.map((each) => each.address)]);
      return {
        devices,
        notOffered: [...notOffered, ...findMissing(context, { cards, looks, said })],
      };
    },
    ...present({ clean: pci.clean }),
  };
}

/** What the card says after a reset. @throws a sentence unless it is up and answers */
async function verified(context: DriverContext, card: PciFunction): Promise<Evidence> {
  const { state, services } = await readFiles(context, card).catch((error: unknown) => {
    throw new Error(`The card ${card.address} cannot be read: ${reasonOf(error)}.`);
  });
  if (state === 'down') throw new Error(`The card ${card.address} is down.`);
  const heartbeat = await readHeartbeat(context, card);
  if (heartbeat === '-1') throw new Error(`The card ${card.address} does not answer.`);
  return {
    ...present({ state }),
    ...(services && { services: shown(services) }),
    ...present({ heartbeat }),
  };
}

async function lookAt(
  context: DriverContext,
  cards: ReadonlyMap<string, QatCard>,
): Promise<Map<string, Looked>> {
  const looks = new Map<string, Looked>();
  // What cannot be read is reported by the discovery of driver `pci`.
  for (const fn of readPciFunctions(context.sysfs, () => {})) {
    const card = cards.get(fn.address);
    if (!card || fn.physicalFunction) continue;
    const files = await readFiles(context, fn).catch((error: Error) => {
      const { message } = error;
      return message.startsWith('has an unknown') ? message : `cannot be read (${message})`;
    });
    const reason = typeof files === 'string' ? files : reasonOfCard(context, fn, card, files);
    looks.set(fn.address, { fn, files: reason ?? files });
  }
  return looks;
}

function reasonOfCard(
  { sysfs, guards }: DriverContext,
  fn: PciFunction,
  { services: expected, virtual_functions: isDivided }: QatCard,
  { state, services }: QatFiles,
): string | undefined {
  if (!findFamily(fn)) return `is ${fn.vendorId}:${fn.productId}, which is no known QAT card`;
  if (!isDivided) return undefined;
  if (state === 'down') return 'is down';
  if (!expected || isSameServices(services ?? [], expected)) return undefined;
  // A card whose functions guests may have keeps its services, and its place in the report.
  if (virtualFunctions(sysfs, fn).some(({ address }) => guards.isOffered(address)))
    return undefined;
  return `runs the services ${shown(services)}, and its settings ask for ${shown(expected)}`;
}

function findWithheld({ sysfs }: DriverContext, looks: ReadonlyMap<string, Looked>) {
  const reasons = new Map<string, string>();
  for (const { fn, files } of looks.values()) {
    if (typeof files !== 'string') continue;
    for (const each of [fn, ...virtualFunctions(sysfs, fn)]) {
      reasons.set(each.address, files.slice(0, 255));
    }
  }
  return reasons;
}

async function described(
  context: DriverContext,
  device: ReportedDevice,
  fn: PciFunction,
  { services = [], ringPairs }: QatFiles,
  dated: ReturnType<typeof createDates>,
): Promise<ReportedDevice> {
  const family = findFamily(fn);
  const isDead = (await readHeartbeat(context, fn)) === '-1';
  const noAnswer: UndatedHealth = { state: 'unhealthy', reason: 'does not answer its heartbeat' };
  const errors = await readRas(context, fn);
  const pcie = aerHealth(context.sysfs, fn, '');
  const worst = [errors, pcie].find((each) => each?.state === 'unhealthy') ?? errors ?? pcie;
  const health = dated(fn.address, isDead ? noAnswer : worst);
  const chip = family?.name === 'c62x' ? findChip(context.sysfs, fn) : undefined;
  const traits = [
    ...(family ? [`QAT_GEN${family.generation}`, `QAT_${family.name.toUpperCase()}`] : []),
    ...services.map((each) => `QAT_${each.toUpperCase()}`),
  ].map((each) => `CUSTOM_${each}`);
  const attributes = {
    ...(family && { family: family.name, generation: String(family.generation) }),
    ...(services.length > 0 && { services: shown(services) }),
    ...(ringPairs && { ring_pairs: String(ringPairs) }),
    ...(chip && { chip }),
  };
  return {
    ...device,
    ...(family && { model: `QAT ${family.name}` }),
    ...present({ health }),
    attributes,
    ...(device.offers && {
      offers: {
        ...device.offers,
        traits: [...new Set([...device.offers.traits, ...traits])],
      },
    }),
  };
}

interface Missing {
  readonly cards: ReadonlyMap<string, QatCard>;
  readonly looks: ReadonlyMap<string, Looked>;
  /** What is offered, or named with its reason. */
  readonly said: ReadonlySet<string>;
}

function findMissing({ sysfs }: DriverContext, { cards, looks, said }: Missing): NotOffered[] {
  const functions = readPciFunctions(sysfs, () => {});
  return [...cards].flatMap(([address, card]) => {
    if (said.has(address)) return [];
    const virtual = functions.filter((each) => each.physicalFunction === address);
    // The reasons of virtual functions are named at their own addresses.
    if (virtual.some((each) => said.has(each.address))) return [];
    const files = looks.get(address)?.files;
    if (typeof files === 'string') return [{ address, reason: files.slice(0, 255) }];
    const fn = functions.find((each) => each.address === address);
    return [{ address, reason: reasonOfMissing(fn, card) }];
  });
}

function reasonOfMissing(fn: PciFunction | undefined, card: QatCard): string {
  if (!fn) return 'is not on this host';
  const { physicalFunction, vendorId, productId } = fn;
  if (physicalFunction) return `is a virtual function: name its card, ${physicalFunction}`;
  if (!findFamily(fn)) return `is ${vendorId}:${productId}, which is no known QAT card`;
  return card.virtual_functions ? 'has no virtual functions' : 'is not offered';
}
