import type { ConsumerDeps } from '../../consumer-deps.ts';
import type { Device } from '../../domain/device.ts';

/** A provider of the same device that another service has made. */
export interface ConflictingProvider {
  readonly uuid: string;
  readonly name: string;
  /** It has the trait of Nova's own providers. */
  readonly isNovas: boolean;
}

const novasTrait = 'OWNER_NOVA';

/**
 * The provider by which another service, as a rule Nova, offers this device in the compute node's
 * tree: Nova could give the device to two servers then. Undefined where there is none.
 */
export async function findConflictingProvider(
  deps: ConsumerDeps,
  device: Device,
): Promise<ConflictingProvider | undefined> {
  const { placement } = deps.clients;
  const node = await placement.findProviderByName(device.hostname);
  if (!node) return undefined;
  const names = conflictingNames(device);
  const own: readonly string[] = device.providers;
  const tree = await placement.providersInTree(node.uuid);
  for (const { uuid, name } of tree.filter((each) => names.includes(each.name))) {
    if (own.includes(uuid)) continue;
    const held = await placement.getTraits(uuid);
    return { uuid, name, isNovas: held?.traits.includes(novasTrait) ?? false };
  }
  return undefined;
}

/**
 * Nova names providers of PCI devices by address, and of GPUs with vGPUs by libvirt's name:
 * https://docs.openstack.org/nova/latest/admin/pci-passthrough.html#pci-tracking-in-placement
 * https://docs.openstack.org/nova/latest/admin/virtual-gpu.html
 */
function conflictingNames({ hostname, address }: Device): string[] {
  return [`${hostname}_${address}`, `${hostname}_pci_${address.replaceAll(/[:.]/g, '_')}`];
}
