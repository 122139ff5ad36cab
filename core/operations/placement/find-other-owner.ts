import type { Provider } from '#core/clients/openstack/placement.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import type { Device } from '#core/domain/device/device.ts';
import { hardwareFunction } from '#core/shapes/attach-handle.ts';

/** The service that offers a device beside ours. */
type OtherOwner = NonNullable<Device['otherOwner']>;

const novasTrait = 'OWNER_NOVA';
/** A card has 2,048 virtual functions at most, 256 on a bus. */
const busesMax = 8;

/** The tree of a compute node; empty where Placement has no such node. Two requests. */
export async function readTree(
  { clients: { placement } }: ConsumerDeps,
  hostname: string,
): Promise<readonly Provider[]> {
  const node = await placement.findProviderByName(hostname);
  return node ? placement.providersInTree(node.uuid) : [];
}

/** The providers below the compute node that belong to none of the host's stored devices. */
export function foreignProviders(
  tree: readonly Provider[],
  devices: readonly Device[],
): readonly Provider[] {
  const ours = new Set<string>(devices.flatMap((device) => device.providers));
  return tree.filter(({ uuid, parentUuid }) => parentUuid && !ours.has(uuid));
}

/**
 * Who offers the device beside us, so that two servers could get it: as its host reports, or by a
 * provider in Placement for it or a function of it. Undefined for a device that is gone.
 *
 * @param foreign of the device's compute node
 * @param readProviders the device's own, with all their handles
 */
export async function findOtherOwner(
  { clients: { placement } }: ConsumerDeps,
  foreign: readonly Provider[],
  device: Device,
  readProviders: () => Promise<readonly StoredProvider[]>,
): Promise<OtherOwner | undefined> {
  if (device.isGone) return undefined;
  if (device.otherOwner) return device.otherOwner;
  const near = foreign.filter(({ name }) => isNear(device, name));
  if (near.length === 0) return undefined;
  const names = conflictingNames(device, await readProviders());
  const conflicting = near.find(({ name }) => names.has(name.toLowerCase()));
  if (!conflicting) return undefined;
  const held = await placement.getTraits(conflicting.uuid);
  return {
    name: held?.traits.includes(novasTrait) ? 'Nova' : 'another service',
    by: `resource provider ${conflicting.name} (${conflicting.uuid})`,
  };
}

const named = /_(?:pci_)?([0-9a-f]{4})[:_]([0-9a-f]{2})[:_][0-9a-f]{2}[._][0-7]$/i;

/**
 * Whether the provider may be of the device, before its handles are read: virtual functions are on
 * the bus of their card, or on one of the next. A device without a PCI address may have any.
 */
function isNear({ address }: Device, provider: string): boolean {
  const [, domain = '', bus = ''] = named.exec(provider) ?? [];
  const [, ownDomain, ownBus = ''] = /^([0-9a-f]{4}):([0-9a-f]{2}):/.exec(address) ?? [];
  if (ownDomain === undefined) return domain !== '';
  const busesAbove = Number.parseInt(bus, 16) - Number.parseInt(ownBus, 16);
  return domain.toLowerCase() === ownDomain && busesAbove >= 0 && busesAbove <= busesMax;
}

/**
 * In lower case. Nova names the provider of a PCI device by its address in upper case: a physical
 * function by its own, virtual functions by that of their physical function. A provider of vGPUs
 * has libvirt's name of the function that makes them, which may be a virtual one:
 * https://docs.openstack.org/nova/latest/admin/pci-passthrough.html#pci-tracking-in-placement
 * https://docs.openstack.org/nova/latest/admin/virtual-gpu.html
 */
function conflictingNames(
  { hostname, address }: Device,
  providers: readonly StoredProvider[],
): Set<string> {
  const handles = providers.flatMap((each) => each.handles);
  const addresses = new Set([address, ...handles.flatMap((each) => hardwareFunction(each) ?? [])]);
  const names = [...addresses].flatMap((each) => [
    `${hostname}_${each}`,
    `${hostname}_pci_${each.replaceAll(/[:.]/g, '_')}`,
  ]);
  return new Set(names.map((name) => name.toLowerCase()));
}
