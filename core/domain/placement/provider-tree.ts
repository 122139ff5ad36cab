// What Placement should hold for a device: https://docs.openstack.org/placement/latest/user/.
// A suffixed request group needs class and traits on one provider, so each provider that holds
// inventory carries all traits of its device, region and function, and the mark of its stack.

import { type DeploymentTypes, typesRefused } from '#core/domain/arq/attach-types.ts';
import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import { reservedHandles, withheldHandles } from '#core/domain/arq/region-handles.ts';
import { type AttachHandle, type Device, isOnHold } from '#core/domain/device/device.ts';
import { isBeingProgrammed, isUnhealthy } from '#core/domain/device/device-health.ts';
import { isClaimable } from '#core/domain/device/handle-state.ts';
import type { ProviderUuid } from '#core/domain/ids.ts';
import { type AmountBounds, amountBounds, sizeTraits } from '#core/domain/pool/pool-sizes.ts';
import { isPool } from '#core/domain/pool/wholes.ts';
import { present } from '#core/shapes/derive/present.ts';
import { isStackTrait, stackTrait } from './stack-mark.ts';

interface WantedInventory extends AmountBounds {
  readonly total: number;
  /** Units that must not be allocated. */
  readonly reserved: number;
}

export interface WantedProvider {
  readonly uuid: ProviderUuid;
  readonly name: string;
  /** Undefined if the parent is the compute node's provider. */
  readonly parentUuid?: ProviderUuid;
  /** Resource class → inventory; at most one. */
  readonly inventories: Readonly<Record<string, WantedInventory>>;
  readonly traits: readonly string[];
  /** The provider is removed, or fully reserved while it has allocations. */
  readonly isGone: boolean;
}

/** The deployment's settings; a host may have attach types of its own. */
interface StackSettings {
  readonly stage: string;
  readonly attachTypes: DeploymentTypes;
}

/** The device's providers, parents first. */
export function wantedProviders(
  device: Device,
  providers: readonly StoredProvider[],
  settings: StackSettings,
): WantedProvider[] {
  const byUuid = new Map(providers.map((each) => [each.deployable.providerUuid, each]));
  return device.providers.flatMap((uuid) => {
    const provider = byUuid.get(uuid);
    return provider ? [wantedProvider(device, provider, settings)] : [];
  });
}

function wantedProvider(
  device: Device,
  provider: StoredProvider,
  { stage, attachTypes }: StackSettings,
): WantedProvider {
  const { deployable } = provider;
  const isThere = !device.isGone && !deployable.isGone && !device.conflictSince;
  // A bind is refused for lack of the hypervisor's support, and Nova tries no other host then.
  const isTaken = typesRefused(provider, attachTypes).length === 0;
  const isWorking = !isUnhealthy(device) && !isBeingProgrammed(device);
  const isOurs = device.offeredTwice === undefined;
  const isInService = device.status === 'enabled' && !isOnHold(device) && isOurs;
  const isOffered = isInService && isThere && isTaken && isWorking;
  const total = deployable.numAccelerators + (isThere ? lostHandles(provider).length : 0);
  const kept = reservedHandles(provider).filter(isCounted).length;
  const isOfPool = isPool(provider.handles);
  const bounds = isOfPool ? amountBounds(provider.handles) : { minUnit: 1, stepSize: 1 };
  return {
    uuid: deployable.providerUuid,
    name: deployable.name,
    ...present({ parentUuid: deployable.parentProviderUuid }),
    inventories:
      deployable.resourceClass && total > 0
        ? {
            [deployable.resourceClass]: {
              total,
              reserved: isOffered ? Math.min(kept, total) : total,
              ...bounds,
            },
          }
        : {},
    traits: [
      ...deployable.traits.filter((trait) => !isStackTrait(trait)),
      ...(isOfPool && isOffered ? freeSizes(provider) : []),
      stackTrait(stage),
    ].sort(),
    isGone: device.isGone || deployable.isGone,
  };
}

/** Units that are gone, and still allocated: without them the total would hide a free one. */
function lostHandles({ handles }: StoredProvider): readonly AttachHandle[] {
  return handles.filter((each) => each.isGone && isCounted(each));
}

/** Whether the unit is part of the total. */
function isCounted({ isGone, claim }: AttachHandle): boolean {
  return !isGone || claim !== undefined;
}

function freeSizes(provider: StoredProvider): string[] {
  const withheld = new Set(withheldHandles(provider));
  return sizeTraits(provider.handles, (each) => isClaimable(each) && !withheld.has(each));
}

/** A provider's inventories in Placement by class; an absent field has Placement's default. */
export type HeldInventories = Readonly<
  Record<
    string,
    {
      readonly total: number;
      readonly reserved?: number | undefined;
      readonly min_unit?: number | undefined;
      readonly max_unit?: number | undefined;
      readonly step_size?: number | undefined;
      readonly allocation_ratio?: number | undefined;
    }
  >
>;

/** Whether a field that Placement allocates by differs from the wanted one. */
export function differsFrom(provider: WantedProvider, held: HeldInventories): boolean {
  const classes = Object.entries(provider.inventories);
  return (
    Object.keys(held).length !== classes.length ||
    classes.some(([resourceClass, { total, reserved, minUnit, stepSize }]) => {
      const inventory = held[resourceClass];
      return (
        inventory?.total !== total ||
        (inventory.reserved ?? 0) !== reserved ||
        (inventory.min_unit ?? 1) !== minUnit ||
        inventory.max_unit !== total ||
        (inventory.step_size ?? 1) !== stepSize ||
        (inventory.allocation_ratio ?? 1) !== 1
      );
    })
  );
}
