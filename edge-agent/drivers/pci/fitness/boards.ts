// GPUs for which VFIO alone is not enough, unless the operator says that the rest is there.

import type { Discovery, Observation } from '#agent/drivers/contract/driver.ts';
import type { AllowListEntry } from '#agent/drivers/pci/allow-list.ts';
import { modelName } from '#agent/drivers/pci/naming/names.ts';
import type { PciPool } from '#agent/drivers/pci/pools.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { type PciFunction, readPciFunctions } from '#agent/sysfs/pci.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import {
  examineFabricManager,
  fabricSettings,
  readFabricMode,
  readFabricVersion,
  vgpuMode,
} from './fabric-manager.ts';

/** NVIDIA, Fabric Manager User Guide: without it CUDA in a guest ends with the error 802. */
const fabricNeed =
  'is on a board with NVSwitches, whose links the Fabric Manager must open for a guest (else CUDA ' +
  'ends with 802)';
/** MI300X, MI308X, MI325X, MI350X and MI355X: their configuration space reads 0xff afterwards. */
const lostByReset = ['74a1', '74a2', '74a5', '74a8', '75a0', '75a3'];
/** B100, B200 and B300 of HGX boards, whose switches are no PCI functions. */
const withoutPciSwitch = ['2901', '2909', '290a', '29bc', '3182'];
/** GB200 and GB300. */
const inRack = ['2941', '31a1', '31c2', '31c3'];
/** nvidia-smi then shows the fabric's state as "In Progress". */
const rackNeed =
  'is on the NVLink of a rack, whose switches are outside of this host (CUDA may end with 802): have ' +
  "the rack's NMX-C give it a partition, then set fabric_ready to true";

interface BoardWish {
  readonly physical: PciFunction;
  readonly functions: readonly PciFunction[];
  readonly entry: Pick<AllowListEntry, 'pool' | 'fabric_ready' | 'lost_by_reset'>;
}

/**
 * @param refused why functions are not offered for another reason, which goes first
 * @returns these, and those for which more than VFIO is needed
 */
export function refuseBoards(
  pools: readonly PciPool[] | undefined,
  wishes: readonly BoardWish[],
  all: readonly PciFunction[],
  refused: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const reasons = wishes.flatMap((wish) => {
    const reason = reasonOfReset(wish) ?? reasonOfFabric(pools, wish, all);
    return reason === undefined
      ? []
      : wish.functions.map(({ address }) => [address, reason] as const);
  });
  return new Map([...reasons, ...refused]);
}

function reasonOfReset({ physical, functions, entry }: BoardWish): string | undefined {
  const { vendorId, productId } = physical;
  const isWhole = functions.includes(physical);
  if (vendorId !== '1002' || !lostByReset.includes(productId) || !isWhole) return undefined;
  if (entry.lost_by_reset) return undefined;
  return (
    'may be lost until the host reboots, after VFIO has reset it as a whole: offer its virtual ' +
    'functions, or set lost_by_reset to true'
  );
}

function reasonOfFabric(
  pools: readonly PciPool[] = [],
  { physical, entry }: BoardWish,
  all: readonly PciFunction[],
): string | undefined {
  if (entry.fabric_ready) return undefined;
  if (isInRack(physical)) return rackNeed;
  if (!isOnSwitches(physical, all)) return undefined;
  const set = pools
    .filter(({ name }) => name === entry.pool)
    .flatMap(({ sets }) => sets)
    .find(({ functions }) => functions.includes(physical.address));
  const switches = all.filter(isSwitch);
  const hasSwitches = switches.some(
    ({ address, iommuGroup }) =>
      set?.functions.includes(address) ||
      // The functions of one group are a set without being named.
      (iommuGroup !== undefined && iommuGroup === physical.iommuGroup),
  );
  const isBoard = switches.length === 0 && (set?.functions.length ?? 0) >= 8;
  if (set?.partition || hasSwitches || isBoard) return undefined;
  return `${fabricNeed}: offer it in a set with a partition or with its board, or set fabric_ready`;
}

interface VgpuCard {
  readonly card: PciFunction;
  /** The setting `fabric_ready`. */
  readonly isReady: boolean;
}

/**
 * Why vGPUs of a card are not offered. What the operator says counts, unless the settings of this
 * host's Fabric Manager say otherwise.
 */
export async function refuseVgpus(
  hardware: Pick<Hardware, 'exec'>,
  { card, isReady }: VgpuCard,
  all: readonly PciFunction[],
): Promise<string | undefined> {
  if (isInRack(card)) return isReady ? undefined : rackNeed;
  if (!isOnSwitches(card, all)) return undefined;
  const mode = await readFabricMode(hardware);
  if (isReady && (mode === undefined || mode === vgpuMode)) return undefined;
  const shown = mode === undefined ? '' : `, which is ${mode} in ${fabricSettings}`;
  return `${fabricNeed}: set its mode for vGPUs (FABRIC_MODE=${vgpuMode}${shown}), and fabric_ready to true`;
}

/**
 * The release of this host's Fabric Manager, with which the driver of a guest must agree: devices
 * show it as an attribute, for which a profile can ask.
 */
export async function fabricAttributes(
  hardware: Pick<Hardware, 'exec'>,
  cards: readonly PciFunction[],
  all: readonly PciFunction[],
): Promise<ReadonlyMap<string, Readonly<Record<string, string>>>> {
  const onSwitches = cards.filter((card) => isOnSwitches(card, all));
  const version = onSwitches.length > 0 ? await readFabricVersion(hardware) : undefined;
  if (version === undefined) return new Map();
  return new Map(onSwitches.map(({ address }) => [address, { fabric_manager: version }]));
}

interface FabricHost {
  readonly sysfs: Sysfs;
  readonly hardware: Pick<Hardware, 'exec'>;
  /** Where the Fabric Manager runs, if not on this host. */
  readonly hostname?: string | undefined;
  /** Whether the function is in the driver's settings. */
  readonly isOwn: (fn: PciFunction) => boolean;
  readonly discover: () => Promise<Discovery>;
}

/** What the self-test prints of the Fabric Manager, and which GPUs are refused without it. */
export async function examineFabric(host: FabricHost): Promise<readonly Observation[]> {
  const all = readPciFunctions(host.sysfs, () => {});
  if (!all.some((fn) => isOnSwitches(fn, all) && host.isOwn(fn))) return [];
  const { notOffered = [] } = await host.discover();
  const [first, ...others] = notOffered.filter(({ reason }) => reason.startsWith(fabricNeed));
  const more = others.length > 0 ? ` and ${others.length} more` : '';
  const refused = first
    ? `Not offered for this reason: ${first.address}${more}.`
    : 'No GPU is refused for this reason.';
  const { outcome, what }: Observation =
    host.hostname === undefined
      ? await examineFabricManager(host.hardware)
      : { outcome: 'not seen', what: `Fabric Manager: it runs at ${host.hostname}.` };
  return [{ outcome, what: `${what} ${refused}` }];
}

function isInRack({ vendorId, productId }: PciFunction): boolean {
  return vendorId === '10de' && inRack.includes(productId);
}

function isSwitch({ vendorId, classCode }: PciFunction): boolean {
  return vendorId === '10de' && classCode.startsWith('0680');
}

/** Cards in slots of the same host are not on its board of NVSwitches. */
export function isOnSwitches(card: PciFunction, all: readonly PciFunction[]): boolean {
  if (card.vendorId !== '10de' || !card.classCode.startsWith('0302')) return false;
  if (hasHiddenSwitches(card)) return true;
  return !/PCIe|NVL/.test(modelName(card) ?? '') && all.some(isSwitch);
}

/** Whether the GPU is on a board whose switches are reached through network functions alone. */
export function hasHiddenSwitches({ vendorId, productId }: PciFunction): boolean {
  return vendorId === '10de' && withoutPciSwitch.includes(productId);
}
