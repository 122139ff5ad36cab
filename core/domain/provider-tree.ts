// What Placement should hold for a device: https://docs.openstack.org/placement/latest/user/.
// A suffixed request group needs class and traits on one provider, so each provider that holds
// inventory carries all traits of its device, region and function.

import type { Deployable, Device } from './device.ts';
import type { ProviderUuid } from './ids.ts';

export interface WantedInventory {
  readonly total: number;
  /** As many as may not be allocated. */
  readonly reserved: number;
}

export interface WantedProvider {
  readonly uuid: ProviderUuid;
  readonly name: string;
  /** Undefined: below the compute node's provider. */
  readonly parentUuid?: ProviderUuid;
  /** By resource class; at most one. */
  readonly inventories: Readonly<Record<string, WantedInventory>>;
  readonly traits: readonly string[];
  /** To be removed, or reserved whole while something still holds an allocation. */
  readonly isGone: boolean;
}

/** The device's providers, parents first. */
export function wantedProviders(
  device: Device,
  deployables: readonly Deployable[],
): WantedProvider[] {
  const byUuid = new Map(deployables.map((each) => [each.providerUuid, each]));
  return device.providers.flatMap((uuid) => {
    const deployable = byUuid.get(uuid);
    return deployable ? [wantedProvider(device, deployable)] : [];
  });
}

function wantedProvider(device: Device, deployable: Deployable): WantedProvider {
  const isOffered = device.status === 'enabled' && !device.isGone && !deployable.isGone;
  const total = deployable.numAccelerators;
  return {
    uuid: deployable.providerUuid,
    name: deployable.name,
    ...(deployable.parentProviderUuid && { parentUuid: deployable.parentProviderUuid }),
    inventories:
      deployable.resourceClass && total > 0
        ? { [deployable.resourceClass]: { total, reserved: isOffered ? 0 : total } }
        : {},
    traits: deployable.traits,
    isGone: device.isGone || deployable.isGone,
  };
}
