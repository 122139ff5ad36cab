// Cards that show a management function and a user function, and are one device: a guest gets the
// user function. The management function writes the card's flash. AMD, AVED and AMR, "Base Logic".

import type { AllowListEntry } from '#agent/drivers/pci/allow-list.ts';
import type { PciFunction } from '#agent/sysfs/pci.ts';

interface CardModel {
  readonly name: string;
  readonly vendorId: string;
  readonly management: string;
  /** The card's design decides which it has; the vendor's example has the first. */
  readonly users: readonly string[];
}

const models: readonly CardModel[] = [
  { name: 'Alveo V80', vendorId: '10ee', management: '50b4', users: ['50b5', '50bd', '50c1'] },
];

interface WishedFunction {
  readonly physical: PciFunction;
  readonly entry: Pick<AllowListEntry, 'product_id' | 'pool'>;
}

/** Why management functions are not offered, by address; units of pools are as their sets say. */
export function refuseManagement(wishes: readonly WishedFunction[]): ReadonlyMap<string, string> {
  const single = wishes.filter(({ entry }) => entry.pool === undefined);
  return new Map(
    single.flatMap(({ physical, entry }) => {
      const model = models.find(
        ({ vendorId, management }) =>
          vendorId === physical.vendorId && management === physical.productId,
      );
      if (!model) return [];
      const user = single.find(
        (each) =>
          each.physical.vendorId === model.vendorId &&
          model.users.includes(each.physical.productId) &&
          slotOf(each.physical) === slotOf(physical),
      );
      const reason = reasonOf(model, user?.physical.address, entry.product_id);
      return reason === undefined ? [] : [[physical.address, reason] as const];
    }),
  );
}

function reasonOf(
  { name, vendorId, management, users }: CardModel,
  user: string | undefined,
  named: string | undefined,
): string | undefined {
  if (user !== undefined) {
    return `is the management function of the ${name} whose user function ${user} is one device`;
  }
  if (named === management) return undefined;
  return (
    `is the management function of an ${name}, whose user function (${vendorId}:${users[0]}) is ` +
    `missing or not named: load its design again, or name ${vendorId}:${management} in its entry`
  );
}

function slotOf({ address }: PciFunction): string {
  return address.slice(0, address.lastIndexOf('.'));
}
