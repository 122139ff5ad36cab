import type { Provider } from '#core/clients/openstack/placement.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import type { Device } from '#core/domain/device/device.ts';
import { writtenWithinMs } from '#core/domain/placement/tree-looks.ts';
import type { HostInventory } from '#core/store/hosts/hosts.ts';
import { findOtherOwner, foreignProviders, readTree } from './find-other-owner.ts';
import { otherStackAt } from './put-provider.ts';

/** Providers of a host that Placement has lost: Nova or an operator has deleted them there. */
interface LostTree {
  /** Those whose providers are lost. */
  readonly devices: readonly Device[];
  /** Lost providers. */
  readonly count: number;
  readonly isNodeLost: boolean;
}

interface LookedAt {
  /** Undefined where none is lost. */
  readonly lost?: LostTree;
  /** Devices that another service has begun or ceased to offer: their marks are outdated. */
  readonly disputed: readonly Device[];
}

/**
 * Looks whether Placement has the providers of the host's devices, and whether another service has
 * providers of them: one request while all is as it was, however many devices there are.
 *
 * @throws ServiceUnavailable, RequestRefused
 */
export async function lookAtTree(
  deps: ConsumerDeps,
  { host: { hostname }, devices }: HostInventory,
): Promise<LookedAt> {
  const { placement } = deps.clients;
  const expected = devices.filter((device) => isExpected(device, deps.clock()));
  const [first] = expected.flatMap(({ providers }) => providers);
  if (first === undefined) return { disputed: [] };
  // The tree of any provider is that of its compute node, unless it is lost or has left the tree.
  let tree: readonly Provider[] = await placement.providersInTree(first);
  if (!tree.some(({ name }) => name === hostname)) tree = await readTree(deps, hostname);
  const isNodeLost = tree.length === 0;
  const foreign = foreignProviders(tree, devices);
  const lost: Device[] = [];
  let count = 0;
  for (const device of expected.filter((each) => !isWhole(tree, each))) {
    const providers = await deps.store.inventory.providers(device.providers);
    const missing = providers.filter((each) => isLost(tree, each));
    if (missing.length === 0) continue;
    if (await isOfferedElsewhere(deps, foreign, device, providers)) continue;
    lost.push(device);
    count += missing.length;
  }
  const disputed = await findDisputed(deps, foreign, expected);
  return { disputed, ...(lost.length > 0 && { lost: { devices: lost, count, isNodeLost } }) };
}

async function findDisputed(
  deps: ConsumerDeps,
  foreign: readonly Provider[],
  devices: readonly Device[],
): Promise<readonly Device[]> {
  const disputed: Device[] = [];
  for (const device of devices) {
    const readProviders = () => deps.store.inventory.providers(device.providers);
    const owner = await findOtherOwner(deps, foreign, device, readProviders);
    if ((owner === undefined) !== (device.offeredTwice === undefined)) disputed.push(device);
  }
  return disputed;
}

function isExpected({ isGone, createdAt, updatedAt = createdAt }: Device, nowMs: number): boolean {
  return !isGone && Date.parse(updatedAt) + writtenWithinMs < nowMs;
}

/**
 * Whether the tree has all providers of the device, as far as its row says. A device with regions
 * may have no inventory itself; it is written before them, and cannot be deleted before them.
 */
function isWhole(tree: readonly Provider[], { providers: [first, ...regions] }: Device): boolean {
  const isFirstThere = first === undefined || isComplete(tree, first, regions.length === 0);
  return isFirstThere && regions.every((region) => isComplete(tree, region, true));
}

function isLost(tree: readonly Provider[], { deployable }: StoredProvider): boolean {
  const { isGone, providerUuid, resourceClass, numAccelerators } = deployable;
  const hasInventory = resourceClass !== undefined && numAccelerators > 0;
  return !isGone && !isComplete(tree, providerUuid, hasInventory);
}

/**
 * Whether all of a provider was written. Its traits and its inventory count up its generation from
 * 0: a process may die before it has written both.
 */
function isComplete(tree: readonly Provider[], provider: string, hasInventory: boolean): boolean {
  const least = hasInventory ? 2 : 1;
  return tree.some(({ uuid, generation }) => uuid === provider && generation >= least);
}

/** A device that another service or another stack offers gets no provider of ours. */
async function isOfferedElsewhere(
  deps: ConsumerDeps,
  foreign: readonly Provider[],
  device: Device,
  providers: readonly StoredProvider[],
): Promise<boolean> {
  const [first] = device.providers;
  if (await findOtherOwner(deps, foreign, device, async () => providers)) return true;
  return first !== undefined && (await otherStackAt(deps, first)) !== undefined;
}
