// Mediated devices of any kernel driver: virtual GPUs as a rule. Each card has one type,
// which the settings name; its mdevs are made ahead of any bind, or one by one at binds.

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { Driver, HandleWork } from '#agent/drivers/contract/driver.ts';
import { modelName } from '#agent/drivers/pci/naming/names.ts';
import { reasonOf } from '#agent/log.ts';
import {
  type ExistingMdev,
  type MdevParent,
  readMdev,
  readMdevParents,
  readMdevs,
} from '#agent/sysfs/mdev.ts';
import { readPciFunctionAt, readPlace } from '#agent/sysfs/pci.ts';
import { parsePciAddress } from '#agent/sysfs/pci-address.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import { isKernelName } from '#core/contracts/attach-handle.ts';
import type { ReportedDevice, ReportedRegion } from '#core/contracts/report/inventory-report.ts';
import { type Card, chooseCards, serverOn, usedByOthers } from './cards.ts';
import {
  available,
  create,
  find,
  handleParent,
  infoOn,
  limitOfCard,
  madeAhead,
  remove,
} from './objects.ts';
import type { MdevSettings } from './settings.ts';
import { planMdevs } from './setup.ts';

const cleanSeconds = 300;

/** @param name the driver in whose name the cards are offered */
export function createMdevDriver(
  settings: MdevSettings,
  context: DriverContext,
  name = 'mdev',
): Driver {
  const { sysfs } = context;
  /** Uuids that are being recreated: they stay offered. */
  const recreated = new Set<string>();
  return {
    name,
    signature: () =>
      readMdevParents(sysfs)
        .map(({ address }) => address)
        .join(),
    plan: async () => (settings.made === 'ahead' ? planMdevs(settings, context, recreated) : []),
    discover: async () => discover(settings, context, recreated, name),
    find: async (handle) => find(context, handle),
    prepare: (handle) => prepare(settings, context, handle),
    clean: async (handle) => {
      recreated.add(handle.uuid);
      try {
        const existing = readMdev(sysfs, handle.uuid);
        if (existing) await remove(context, existing);
        const isAhead = settings.made === 'ahead';
        const parent = existing?.parent ?? handleParent(handle);
        if (isAhead) await create(context, parent, handle.info.asked_type ?? '', handle.uuid);
        return { removed: existing !== undefined, ...(isAhead && { recreated: true }), parent };
      } finally {
        recreated.delete(handle.uuid);
      }
    },
  };
}

async function discover(
  settings: MdevSettings,
  context: DriverContext,
  recreated: ReadonlySet<string>,
  driver: string,
) {
  const { cards, notOffered } = chooseCards(settings, context);
  const existing = readMdevs(context.sysfs);
  const devices: Record<string, ReportedDevice> = {};
  for (const card of cards) {
    const foreign = usedByOthers(settings, context, card, existing);
    try {
      const reason = foreign ?? (await serverOn(context, card, existing));
      if (reason) {
        notOffered.push({ address: card.address, reason });
        continue;
      }
      const described = await describe(settings, context, card, existing, recreated);
      devices[card.address] = { ...described, driver };
    } catch (error) {
      notOffered.push({ address: card.address, reason: `cannot be read (${reasonOf(error)})` });
    }
  }
  return { devices, notOffered };
}

async function describe(
  settings: MdevSettings,
  context: DriverContext,
  { address, pool, parents }: Card,
  existing: readonly ExistingMdev[],
  recreated: ReadonlySet<string>,
): Promise<Omit<ReportedDevice, 'driver'>> {
  const card = cardAt(context.sysfs, address);
  const handles: ReportedRegion['attach_handles'] = [];
  const limit = limitOfCard(context, parents, pool.type);
  for (const parent of parents) {
    const there = existing.filter((each) => each.parent === parent.address);
    if (settings.made === 'ahead') {
      for (const uuid of madeAhead(context, parent, pool.type, there, recreated)) {
        handles.push(describeHandle(settings, parent, pool.type, uuid));
      }
      continue;
    }
    const free = await available(context, parent, pool.type);
    const count = there.filter(({ type }) => type === pool.type).length + free;
    for (let index = 0; index < count && handles.length < limit; index += 1) {
      handles.push(describeHandle(settings, parent, pool.type, undefined, index));
    }
  }
  return {
    address,
    type: 'GPU',
    vendor_board_info: 'miss_vb_info',
    ...card,
    offers: {
      pool: pool.type,
      resource_class: pool.resource_class,
      traits: [...new Set([typeTrait(card.vendor, card.product, pool.type), ...pool.traits])],
      attach_handles: handles,
    },
    regions: [],
  };
}

/** The report of the card itself. */
function cardAt(sysfs: Sysfs, address: string) {
  if (isKernelName(address)) return { vendor: 'linux', product: address, model: address };
  const fn = readPciFunctionAt(sysfs, address);
  if (!fn) throw new Error('it is not on the PCI bus');
  const { vendorId: vendor, productId: product, classCode } = fn;
  const std_board_info = JSON.stringify({ product_id: product, class: `0x${classCode}` });
  const model = modelName(fn) ?? product;
  return { vendor, product, model, std_board_info, ...readPlace(sysfs, fn) };
}

/** CUSTOM_<VENDOR>_<PRODUCT>_<TYPE>, as in Nova's specification of vGPUs. */
function typeTrait(vendor: string, product: string, type: string): string {
  return `CUSTOM_${vendor}_${product}_${type}`.toUpperCase().replaceAll(/[^A-Z0-9_]/g, '_');
}

function describeHandle(
  { made, clean }: MdevSettings,
  { address }: MdevParent,
  type: string,
  uuid: string | undefined,
  index = 0,
): ReportedRegion['attach_handles'][number] {
  const mark = uuid ? Number.parseInt(uuid.slice(-12), 16) : index;
  return {
    type: 'MDEV',
    info: { ...parsePciAddress(address), asked_type: type, vgpu_mark: `${type}_${mark}` },
    ...(uuid && { uuid }),
    prepare: made,
    // An mdev of one bind alone is removed with it.
    ...(made === 'at-bind' || (made === 'ahead' && clean === 'recreate')
      ? { clean_seconds: cleanSeconds }
      : {}),
  };
}

/** Chooses the parent: of a card with virtual functions, one that has room. */
async function prepare(settings: MdevSettings, context: DriverContext, handle: HandleWork) {
  const type = handle.info.asked_type ?? '';
  const card = chooseCards(settings, context).cards.find(
    ({ address }) => address === handle.address,
  );
  if (!card || card.pool.type !== type) {
    throw new Error(`${handle.address} is not offered as ${type}`);
  }
  for (const parent of card.parents) {
    if ((await available(context, parent, type)) === 0) continue;
    await create(context, parent.address, type, handle.uuid);
    return { info: infoOn(handle, parent.address) };
  }
  throw new Error(`ENOSPC: ${handle.address} has no room for another ${type}`);
}
