// NVIDIA GPUs: as a whole, or divided into vGPUs of one type per card. How a card is divided is
// read from the host: mdevs on the card, mdevs on its virtual functions, or types of virtual
// functions (vfio.ts).

import type { DriverContext } from '#agent/drivers/contract/define-driver.ts';
import type { Discovery, Driver, HostChange, NotOffered } from '#agent/drivers/contract/driver.ts';
import { createMdevDriver } from '#agent/drivers/mdev/index.ts';
import { mdevSettings } from '#agent/drivers/mdev/settings.ts';
import { pciAllowList } from '#agent/drivers/pci/allow-list.ts';
import { examineFabric, fabricAttributes, refuseVgpus } from '#agent/drivers/pci/fitness/boards.ts';
import { aerHealth } from '#agent/drivers/pci/health.ts';
import { createPciDriver, handleAddress } from '#agent/drivers/pci/index.ts';
import { functionCount } from '#agent/drivers/pci/setup.ts';
import { reasonOf } from '#agent/log.ts';
import { readMdevParents } from '#agent/sysfs/mdev.ts';
import {
  type PciFunction,
  pciSignature,
  readPciFunctionAt,
  readPciFunctions,
  virtualLinks,
} from '#agent/sysfs/pci.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';
import { present } from '#core/shapes/derive/present.ts';
import { describeVendorCard, vgpuType, withFacts } from './describe.ts';
import { examineNvidia } from './examine.ts';
import { readCardFacts } from './facts.ts';
import { planInstances } from './mig.ts';
import { isVgpu, type NvidiaSettings, nvidiaName as name, type VgpuCards } from './settings.ts';
import { createVendorVgpus, type VendorVgpus } from './vfio.ts';

/** The script makes up to 48 functions, and waits for the driver of each. */
const sriovManageMs = 120_000;

export function createNvidiaDriver(settings: NvidiaSettings, context: DriverContext): Driver {
  const { sysfs, clock } = context;
  /** When the driver began to look. */
  let since: string | undefined;
  const whole = wholeCards(settings, context);
  const vendor = createVendorVgpus(context);
  const divided = settings.cards.filter(isVgpu);
  const mdev = mdevDriver(settings, divided, context);
  const byAddress = new Map(
    divided.flatMap((cards) => cards.addresses.map((address) => [address, cards] as const)),
  );
  const deps = { settings, context, vendor };
  const addresses = settings.cards.flatMap((cards) => cards.addresses);
  const isOwn = ({ address }: PciFunction) => addresses.includes(address);
  const driver: Driver = {
    name,
    signature: () => pciSignature(sysfs),
    plan: async () => {
      const changes: HostChange[] = [...((await whole?.plan?.()) ?? [])];
      for (const [address, cards] of byAddress) {
        const planned = await planCard(deps, address, cards).catch((error: unknown) => {
          const refusal = `it ${unread(error)}`;
          const difference = { before: 'unknown', after: cards.vgpu_type, refusal };
          return [{ address, what: 'vGPU type', ...difference }];
        });
        changes.push(...planned);
      }
      return [...changes, ...((await mdev?.plan?.()) ?? [])];
    },
    discover: async () => {
      const discoveries = [await whole?.discover(), await mdev?.discover()];
      const devices: Discovery['devices'] = Object.assign(
        {},
        ...discoveries.map((each) => each?.devices),
      );
      const notOffered = discoveries.flatMap((each) => each?.notOffered ?? []);
      const divisions = await discoverVendor(deps, byAddress);
      await vendor.keepOnly(new Set(byAddress.keys()));
      const isOwn = ({ address }: NotOffered) => mayUseTypes(vendor, address);
      const left = [...notOffered.filter((each) => !isOwn(each)), ...(divisions.notOffered ?? [])];
      const described: Record<string, ReportedDevice> = {};
      since ??= new Date(clock.wallMs()).toISOString();
      const functions = readPciFunctions(sysfs, () => {});
      const parents = functions.filter(({ address }) => byAddress.has(address));
      const fabric = await fabricAttributes(context.hardware, parents, functions);
      for (const [address, device] of Object.entries({ ...devices, ...divisions.devices })) {
        const cards = byAddress.get(address);
        const fn = parents.find((each) => each.address === address);
        const isReady = cards?.fabric_ready === true;
        const reason =
          fn && (await refuseVgpus(context.hardware, { card: fn, isReady }, functions));
        const onFabric = {
          ...device,
          attributes: { ...device.attributes, ...fabric.get(address) },
        };
        const card = reason ?? (await describeCard(deps, onFabric, cards, since).catch(unread));
        if (typeof card === 'string') left.push({ address, reason: card });
        else described[address] = card;
      }
      return { devices: described, notOffered: left };
    },
    examine: async () => [
      ...(await examineNvidia(settings, context)),
      ...(await examineFabric({ ...context, isOwn, discover: driver.discover })),
    ],
    find: async (handle) =>
      handle.type === 'MDEV' && mdev?.find ? mdev.find(handle) : { state: 'hardware' },
    prepare: async (handle) => {
      if (handle.type !== 'MDEV' || !mdev?.prepare) throw new Error('It needs no preparation.');
      return await mdev.prepare(handle);
    },
    clean: async (handle, onProgress) => {
      if (handle.type === 'MDEV' && mdev?.clean) return await mdev.clean(handle, onProgress);
      const cards = byAddress.get(handle.address);
      if (cards)
        return await vendor.recreate(handle.address, handleAddress(handle), cards.vgpu_type);
      if (!whole?.clean) throw new Error(`The card ${handle.address} is not offered any more.`);
      return await whole.clean(handle, onProgress);
    },
  };
  return driver;
}

interface Given {
  readonly settings: NvidiaSettings;
  readonly context: DriverContext;
  readonly vendor: VendorVgpus;
}

/** Cards that are passed through, by the rules and the guards of driver `pci`. */
function wholeCards({ cards }: NvidiaSettings, context: DriverContext): Driver | undefined {
  const entries = cards
    .filter((cards) => !isVgpu(cards))
    .flatMap(({ addresses, resource_class, traits, bind_to, reset, resets, fabric_ready }) =>
      addresses.map((address) => ({
        vendor_id: '10de',
        class: '03',
        address,
        traits,
        companions: true,
        resource_class: resource_class ?? 'PGPU',
        clean: reset === false ? 'none' : 'reset',
        ...present({ bind_to, resets, fabric_ready }),
      })),
    );
  if (entries.length === 0) return undefined;
  const allowList = pciAllowList.parse(entries);
  return createPciDriver({ name, ...context, allowList, namesMissing: true });
}

function mdevDriver(
  { made, clean }: NvidiaSettings,
  divided: readonly VgpuCards[],
  context: DriverContext,
): Driver | undefined {
  if (divided.length === 0) return undefined;
  const pools = divided.map(({ addresses, vgpu_type: type, resource_class, traits }) => ({
    parents: addresses,
    type,
    traits,
    resource_class: resource_class ?? 'VGPU',
  }));
  return createMdevDriver(mdevSettings.parse({ pools, made, clean }), context, name);
}

/** GPU instances first; then virtual functions, and their types where the card has such. */
async function planCard(
  { settings, context, vendor }: Given,
  card: string,
  cards: VgpuCards,
): Promise<readonly HostChange[]> {
  const { sysfs, guards } = context;
  const { gpu_instances: profiles } = cards;
  const instances = profiles && (await planInstances(context, settings.nvidia_smi, card, profiles));
  if (instances) return [instances];
  if (vendor.isUsed(card)) {
    return isForVendor(settings) ? await vendor.plan(card, cards) : [];
  }
  const fn = readPciFunctionAt(sysfs, card);
  const total = fn && Number(sysfs.readAttribute(`${fn.path}/sriov_totalvfs`) ?? 0);
  const isDivided = readMdevParents(sysfs).some(({ physical }) => physical === card);
  if (!fn || !total || isDivided || fn.boundDriver !== 'nvidia') return [];
  const difference = {
    address: card,
    what: functionCount,
    before: String(virtualLinks(sysfs, fn).length),
    after: String(total),
  };
  if (difference.before !== '0') return [];
  const use = (await guards.heldBy([fn], false)).get(card);
  if (use !== undefined) return [{ ...difference, refusal: `${card} ${use}` }];
  return [{ ...difference, apply: () => makeFunctions(settings, context, fn) }];
}

/** Runs NVIDIA's script, because the driver refuses a plain write of `sriov_numvfs`. */
async function makeFunctions(
  { sriov_manage: script }: NvidiaSettings,
  context: DriverContext,
  fn: PciFunction,
): Promise<void> {
  const { hardware, guards } = context;
  const use = (await guards.heldBy([fn], false)).get(fn.address);
  if (use !== undefined) throw new Error(`${fn.address} ${use}`);
  const answer = await hardware.exec(fn.address, script, ['-e', fn.address], sriovManageMs);
  if (answer.exitCode !== 0) {
    const said = (answer.stderr || answer.stdout).replaceAll(/\p{C}/gu, ' ').trim().slice(0, 200);
    throw new Error(`${script} ended with ${answer.exitCode}: ${said}`);
  }
  if (virtualLinks(context.sysfs, fn).length === 0)
    throw new Error(`${script} made no virtual functions`);
}

/** Also of a card whose virtual functions cannot be read. */
function mayUseTypes(vendor: VendorVgpus, card: string): boolean {
  try {
    return vendor.isUsed(card);
  } catch {
    return true;
  }
}

/** What libvirt does to a managed function, and what is made otherwise than ahead. */
function isForVendor({ made, attach_unmanaged: isUnmanaged }: NvidiaSettings): boolean {
  return made === 'ahead' && isUnmanaged;
}

async function discoverVendor(
  { settings, context, vendor }: Given,
  byAddress: ReadonlyMap<string, VgpuCards>,
): Promise<Discovery> {
  const devices: Record<string, ReportedDevice> = {};
  const notOffered: NotOffered[] = [];
  for (const [address, cards] of byAddress) {
    try {
      if (!vendor.isUsed(address)) continue;
      if (!isForVendor(settings)) {
        notOffered.push({ address, reason: vendorRefusal(settings) });
        continue;
      }
      const fn = readPciFunctionAt(context.sysfs, address);
      if (!fn) continue;
      const functions = await vendor.offered(address, cards.vgpu_type);
      if (typeof functions === 'string') notOffered.push({ address, reason: functions });
      else devices[address] = describeVendorCard(settings, fn, cards, functions);
    } catch (error) {
      notOffered.push({ address, reason: unread(error) });
    }
  }
  return { devices, notOffered };
}

function vendorRefusal({ made }: NvidiaSettings): string {
  return made === 'ahead'
    ? 'has vGPUs that libvirt must attach unmanaged, as Nova does not ask for: see attach_unmanaged'
    : `has vGPUs that are made ahead of binds only, and made is ${made}`;
}

/** The device with the facts of its card; or why the card is not offered. */
async function describeCard(
  { context, vendor }: Given,
  device: ReportedDevice,
  cards: VgpuCards | undefined,
  since: string,
): Promise<ReportedDevice | string> {
  const fn = readPciFunctionAt(context.sysfs, device.address);
  if (!fn) return 'is no longer there';
  const facts = await readCardFacts(context, fn);
  if (facts.isExcluded) return "is excluded from NVIDIA's driver";
  const type = cards && (await vgpuType(context, vendor, fn, cards.vgpu_type));
  const health = aerHealth(context.sysfs, fn, since);
  return withFacts(context, { device, fn, facts, type, health });
}

function unread(error: unknown): string {
  return `cannot be read (${reasonOf(error)})`.slice(0, 255);
}
