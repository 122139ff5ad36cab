import type { Provider } from '#core/clients/openstack/placement.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import { pciFunction } from '#core/domain/device/adopted-providers.ts';
import type { AttachHandle, Device } from '#core/domain/device/device.ts';

/** A provider of the same device that another service has made. */
export interface ConflictingProvider {
  readonly uuid: string;
  readonly name: string;
  /** It has the trait of Nova's own providers. */
  readonly isNovas: boolean;
}

const novasTrait = 'OWNER_NOVA';

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
 * The provider by which another service, as a rule Nova, offers this device or a function of it:
 * Nova could give it to two servers then. Undefined where there is none.
 *
 * @param foreign of the device's compute node
 * @param providers the device's own, with all their handles
 */
export async function findConflictingProvider(
  { clients: { placement } }: ConsumerDeps,
  foreign: readonly Provider[],
  device: Device,
  providers: readonly StoredProvider[],
): Promise<ConflictingProvider | undefined> {
  const names = foreign.length > 0 ? conflictingNames(device, providers) : undefined;
  const conflicting = foreign.find(({ name }) => names?.has(name.toLowerCase()));
  if (!conflicting) return undefined;
  const held = await placement.getTraits(conflicting.uuid);
  const isNovas = held?.traits.includes(novasTrait) ?? false;
  return { uuid: conflicting.uuid, name: conflicting.name, isNovas };
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
  const addresses = new Set([address, ...handles.flatMap(hardwareFunction)]);
  const names = [...addresses].flatMap((each) => [
    `${hostname}_${each}`,
    `${hostname}_pci_${each.replaceAll(/[:.]/g, '_')}`,
  ]);
  return new Set(names.map((name) => name.toLowerCase()));
}

/**
 * The function that a handle is, or is made on. Handles for tests have addresses of no hardware.
 */
function hardwareFunction(handle: AttachHandle): string[] {
  const address = handle.type === 'TEST_PCI' ? undefined : pciFunction(handle);
  return address === undefined ? [] : [address];
}
