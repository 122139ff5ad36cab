// Cards that are one device with several functions: a guest gets the user function, and the host
// keeps the management function, which writes the card's flash. A card that shows fewer or more
// functions than its model has is not offered.

import type { AllowListEntry } from '#agent/drivers/pci/allow-list.ts';
import type { PciFunction } from '#agent/sysfs/pci.ts';

/** All are of vendor 10ee. */
interface CardModel {
  readonly name: string;
  readonly management: readonly string[];
  /** The design decides which it has; without a list, the id after that of the management. */
  readonly users?: readonly string[];
  /** The image of the factory, which shows one function. */
  readonly golden?: readonly string[];
}

/** AMD, AVED and AMR, "Base Logic"; SLASH, driver/slash_pcie.c and slash_qdma.c (50b6, 50c2). */
const v80: CardModel = {
  name: 'Alveo V80',
  management: ['50b4'],
  users: ['50b5', '50b6', '50bd', '50c1', '50c2'],
};
/** XRT, core/pcie/driver/linux/xocl/devices.h: XOCL_MGMT_PCI_IDS, XOCL_USER_XDMA_PCI_IDS. */
const xrt: readonly CardModel[] = [
  { name: 'Alveo U200', management: ['5000', '5010'], golden: ['d000'] },
  { name: 'Alveo U250', management: ['5004', '5014'], golden: ['d004'] },
  { name: 'Alveo U280', management: ['5008', '500c', '5018', '501c'], golden: ['d008', 'd00c'] },
  { name: 'Alveo U50', management: ['5020'], golden: ['d020'] },
  { name: 'Alveo U30', management: ['503c'] },
  { name: 'SmartSSD', management: ['6987'] },
];
const models = [v80, ...xrt];
const vendor = '10ee';

interface WishedFunction {
  readonly physical: PciFunction;
  readonly entry: Pick<AllowListEntry, 'product_id' | 'pool'>;
}

/** Why functions of such cards are not offered, by address; the sets of a pool say what it has. */
export function refuseCardFunctions(
  wishes: readonly WishedFunction[],
  all: readonly PciFunction[],
): ReadonlyMap<string, string> {
  const single = wishes.filter(({ entry }) => entry.pool === undefined);
  const wished = new Set(single.map(({ physical }) => physical.address));
  return new Map(
    single.flatMap(({ physical, entry }) => {
      const model = models.find((each) => isOf(each, physical));
      if (!model) return [];
      const others = all.filter((fn) => isMate(fn, physical));
      const reason = (model.golden ?? []).includes(physical.productId)
        ? reasonOfGolden(model, entry)
        : model.management.includes(physical.productId)
          ? reasonOfManagement(model, physical, { entry, others, wished })
          : reasonOfUser(model, physical, others);
      return reason === undefined ? [] : [[physical.address, reason] as const];
    }),
  );
}

function reasonOfGolden({ name, golden = [] }: CardModel, { product_id: named }: Named) {
  if (named !== undefined && golden.includes(named)) return undefined;
  return `has the golden image of an ${name} and no user function: flash a shell, and start the host`;
}

type Named = WishedFunction['entry'];

interface Slot {
  readonly entry: Named;
  /** The other functions of the card. */
  readonly others: readonly PciFunction[];
  readonly wished: ReadonlySet<string>;
}

function reasonOfManagement(
  model: CardModel,
  { productId }: PciFunction,
  { entry, others, wished }: Slot,
): string | undefined {
  const is = `is the management function of an ${model.name}`;
  const [user] = others.toSorted((a, b) => rank(wished, a) - rank(wished, b));
  if (user && wished.has(user.address)) {
    return `${is}, whose user function ${user.address} is one device with it`;
  }
  if (entry.product_id === productId) return undefined;
  if (user) return `${is}: name its user function ${user.address} (${idsOf(user)}) instead`;
  const [id] = usersOf(model, productId);
  return (
    `${is}, whose user function (${vendor}:${id}) is missing: load its design again and rescan the ` +
    `bus, or name ${vendor}:${productId} in its entry`
  );
}

function rank(wished: ReadonlySet<string>, { address }: PciFunction): number {
  return wished.has(address) ? 0 : 1;
}

function reasonOfUser(
  { name, management }: CardModel,
  { address }: PciFunction,
  others: readonly PciFunction[],
): string | undefined {
  const first = `${slotOf(address)}.0`;
  // A virtual machine can have got the user function alone, as its function 0.
  if (address !== first && !others.some((fn) => fn.address === first)) {
    return (
      `is the user function of an ${name}, whose management function ${first} (${vendor}:` +
      `${management[0]}) is missing: remove both and rescan the bus, or power cycle the host`
    );
  }
  const users = others.filter(({ productId }) => !management.includes(productId));
  const [another] = users;
  if (!another) return undefined;
  return (
    `is one of ${users.length + 1} user functions of an ${name}, of which a server needs all, such ` +
    `as ${another.address}: put them in a set of a pool`
  );
}

function isOf(model: CardModel, { vendorId, productId, physicalFunction }: PciFunction): boolean {
  const { management, golden = [] } = model;
  const ids = [...management, ...golden, ...management.flatMap((id) => usersOf(model, id))];
  return vendorId === vendor && physicalFunction === undefined && ids.includes(productId);
}

function usersOf({ users }: CardModel, management: string): readonly string[] {
  return users ?? [(Number.parseInt(management, 16) + 1).toString(16)];
}

function isMate(fn: PciFunction, { address }: PciFunction): boolean {
  return (
    fn.address !== address &&
    fn.vendorId === vendor &&
    fn.physicalFunction === undefined &&
    slotOf(fn.address) === slotOf(address)
  );
}

function slotOf(address: string): string {
  return address.slice(0, address.lastIndexOf('.'));
}

function idsOf({ vendorId, productId }: PciFunction): string {
  return `${vendorId}:${productId}`;
}
