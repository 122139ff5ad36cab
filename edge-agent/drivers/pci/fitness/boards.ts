// GPUs for which VFIO alone is not enough, unless the operator says that the rest is there.

import type { AllowListEntry } from '#agent/drivers/pci/allow-list.ts';
import { modelName } from '#agent/drivers/pci/names.ts';
import type { PciPool } from '#agent/drivers/pci/pools.ts';
import type { PciFunction } from '#agent/sysfs/pci.ts';

/** NVIDIA, Fabric Manager User Guide: without it CUDA in a guest ends with the error 802. */
const fabricNeed =
  'is on a board with NVSwitches, whose links the Fabric Manager must open for a guest (else CUDA ' +
  'ends with 802)';
/** MI300X, MI308X, MI325X, MI350X and MI355X: their configuration space reads 0xff afterwards. */
const lostByReset = ['74a1', '74a2', '74a5', '74a8', '75a0', '75a3'];
/** B200 and B300 of HGX boards, whose switches are no PCI functions. */
const withoutPciSwitch = ['2901', '2909', '3182'];

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
  if (entry.fabric_ready || !isOnSwitches(physical, all)) return undefined;
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

/** Why vGPUs of a card are not offered, unless the operator says that the mode is set. */
export function refuseVgpus(card: PciFunction, all: readonly PciFunction[]): string | undefined {
  if (!isOnSwitches(card, all)) return undefined;
  return `${fabricNeed}: set its mode for vGPUs (FABRIC_MODE=2), and fabric_ready to true`;
}

function isSwitch({ vendorId, classCode }: PciFunction): boolean {
  return vendorId === '10de' && classCode.startsWith('0680');
}

/** Cards in slots of the same host are not on its board of NVSwitches. */
function isOnSwitches(card: PciFunction, all: readonly PciFunction[]): boolean {
  if (card.vendorId !== '10de' || !card.classCode.startsWith('0302')) return false;
  if (withoutPciSwitch.includes(card.productId)) return true;
  return !/PCIe|NVL/.test(modelName(card) ?? '') && all.some(isSwitch);
}
