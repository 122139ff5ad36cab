import { isDeepStrictEqual } from 'node:util';
import { ServiceUnavailable } from '../../clients/http.ts';
import type { ConsumerDeps } from '../../consumer-deps.ts';
import type { StoredProvider } from '../../domain/bind-plan.ts';
import type { Device } from '../../domain/device.ts';
import { isUnheld } from '../../domain/handle-state.ts';
import type { ProviderUuid } from '../../domain/ids.ts';
import { type WantedProvider, wantedProviders, withheld } from '../../domain/provider-tree.ts';
import { backoffSeconds, RetryLater } from '../../domain/retry-later.ts';
import { handleUses, usageMetricsOf } from '../../domain/usage-metrics.ts';
import type { HostInventory } from '../../store/hosts.ts';
import { reinstateHandles } from '../restore/reinstate-handles.ts';
import { type ConflictingProvider, findConflictingProvider } from './find-conflicting-provider.ts';
import { markIncomplete } from './mark-incomplete.ts';
import { ComputeProviderMissing, putInventories, putProvider } from './put-provider.ts';

const retrySecondsMax = 60;

/** A device that changes while Placement is written is written again. */
const changeRoundsMax = 5;

/**
 * Makes Placement hold what is stored of one device: its provider, those of its regions, and nothing
 * for what is gone. Repeatable; only our own providers are touched. Whoever writes last has looked
 * afterwards whether it wrote what is stored: two that overlap leave nothing of the older.
 *
 * @param attempt which delivery this is, from 1
 * @param countedAt as of when the device's handles are to be counted on the way, if they are
 * @throws RetryLater while the compute node's provider is not there yet, something is still
 *   allocated of what is no longer offered, or Placement is away
 */
export async function syncProviders(
  deps: ConsumerDeps,
  providerUuid: ProviderUuid,
  attempt: number,
  countedAt?: number,
): Promise<void> {
  const written = new Set<ProviderUuid>();
  for (let round = 1; round <= changeRoundsMax; round++) {
    const before = await readDevice(deps, providerUuid);
    const isCounted = countedAt !== undefined && round === 1;
    if (before && isCounted) countDevice(deps, before, countedAt);
    try {
      if (before) await syncDevice(deps, before);
      else await removeUnstored(deps, providerUuid, written);
    } catch (error) {
      const isPassing =
        error instanceof ServiceUnavailable || error instanceof ComputeProviderMissing;
      if (!isPassing) throw error;
      const host = before?.named.deployable.hostname;
      deps.log.warn('Placement cannot be synchronised yet.', { host, error: error.message });
      throw new RetryLater(error.message, backoffSeconds(attempt, retrySecondsMax));
    }
    for (const { uuid } of before?.wanted ?? []) written.add(uuid);
    const after = await readDevice(deps, providerUuid);
    if (isDeepStrictEqual(after?.wanted, before?.wanted)) return;
  }
  throw new RetryLater(`The device of provider ${providerUuid} keeps changing.`, 1);
}

interface StoredDevice {
  /** The provider that the message names. */
  readonly named: StoredProvider;
  readonly inventory: HostInventory;
  /** Undefined where its row has gone before those of its providers. */
  readonly device: Device | undefined;
  readonly providers: readonly StoredProvider[];
  readonly wanted: readonly WantedProvider[];
}

async function readDevice(
  deps: ConsumerDeps,
  providerUuid: ProviderUuid,
): Promise<StoredDevice | undefined> {
  const named = await deps.store.inventory.provider(providerUuid);
  if (!named) return undefined;
  const { hostname, deviceUuid } = named.deployable;
  const inventory = await deps.store.inventory.host(hostname);
  const device = inventory.devices.find((each) => each.uuid === deviceUuid);
  if (!device) return { named, inventory, device, providers: [], wanted: [] };
  const providers = await deps.store.inventory.providers(device.providers);
  return { named, inventory, device, providers, wanted: wantedProviders(device, providers) };
}

/** What Placement says is of no concern: what is counted is what is stored. */
function countDevice(
  deps: ConsumerDeps,
  { device, providers, inventory }: StoredDevice,
  at: number,
): void {
  if (!device) return;
  const { handles, host } = usageMetricsOf(device, providers, inventory, deps.clock());
  const counts = handleUses.map(
    (use) => ({ name: 'Handles', of: use, value: handles[use] }) as const,
  );
  deps.metrics.put(counts, at);
  if (host) deps.metrics.put([{ name: 'Hosts', of: host, value: 1 }], at);
}

async function syncDevice(
  deps: ConsumerDeps,
  { named, device, providers, wanted }: StoredDevice,
): Promise<void> {
  if (!device) {
    // Its rows go in this order: the others', the device's, and last those that the message names.
    await deleteGoneRows(deps, named);
    return;
  }
  await markIncomplete(deps, device, providers);
  // A region that came while an operator set it has what was so before.
  for (const { deployable } of providers) {
    if (deployable.deviceStatus === device.status) continue;
    await deps.store.inventory.copyStatus(device, deployable);
  }
  const kept = wanted.filter((each) => !each.isGone);
  const conflicting = kept.length > 0 ? await findConflictingProvider(deps, device) : undefined;
  let mustComeAgain = false;
  if (conflicting) await withhold(deps, device, kept, conflicting);
  else {
    for (const each of kept) {
      const end = await putProvider(deps, device.hostname, each);
      const own = providers.find(({ deployable }) => deployable.providerUuid === each.uuid);
      // A server may keep it for months: the next reconcile looks again.
      if (end === 'in-use' && !isClaimed(own)) mustComeAgain = true;
    }
    // Which of two agents has described the device is not known.
    if (!device.conflictSince) await reinstateHandles(deps, device, providers);
  }
  const gone = wanted.filter((provider) => provider.isGone);
  await removeProviders(deps, gone, providers, { device, named });
  if (mustComeAgain) throw stillAllocated(device);
}

function isClaimed(own: StoredProvider | undefined): boolean {
  return own?.handles.some((handle) => !isUnheld(handle)) ?? false;
}

function stillAllocated({ hostname }: Device): RetryLater {
  return new RetryLater(`Something is still allocated on ${hostname}.`, retrySecondsMax);
}

/**
 * A device whose rows have gone while it was written, by this sync or by one that has died since, is in
 * Placement again, and nobody else would look.
 */
async function removeUnstored(
  deps: ConsumerDeps,
  named: ProviderUuid,
  written: ReadonlySet<ProviderUuid>,
): Promise<void> {
  const { placement } = deps.clients;
  const tree = await placement.providersInTree(named);
  const below = tree.flatMap(({ uuid, parentUuid }) => (parentUuid === named ? [uuid] : []));
  // Regions before their devices, which were written first.
  for (const uuid of new Set([...below, ...[...written].toReversed(), named])) {
    if (await deps.store.inventory.provider(uuid as ProviderUuid)) continue;
    if ((await placement.deleteProvider(uuid)) === 'in-use') {
      throw new RetryLater(`Something is still allocated from ${uuid}, which is gone.`, 10);
    }
  }
}

/** Offers nothing more of a device that somebody else offers, too: the next reconcile looks again. */
async function withhold(
  deps: ConsumerDeps,
  device: Device,
  wanted: readonly WantedProvider[],
  conflicting: ConflictingProvider,
): Promise<void> {
  for (const provider of wanted) {
    const isThere = await deps.clients.placement.getProvider(provider.uuid);
    if (isThere) await putInventories(deps, withheld(provider));
  }
  deps.metrics.put([{ name: 'DevicesOfferedTwice', value: 1 }]);
  deps.log.error(
    conflicting.isNovas
      ? 'Nova offers this device, too: take it out of its PCI or mdev configuration, or out of the agent’s.'
      : 'Somebody else offers this device, too.',
    {
      host: device.hostname,
      address: device.address,
      provider: conflicting.uuid,
      name: conflicting.name,
    },
  );
}

async function removeProviders(
  deps: ConsumerDeps,
  gone: readonly WantedProvider[],
  stored: readonly StoredProvider[],
  { device, named }: { device: Device; named: StoredProvider },
): Promise<void> {
  const ends: RemovalEnd[] = [];
  const removed: StoredProvider[] = [];
  // Children before their parents.
  for (const provider of gone.toReversed()) {
    const own = stored.find((each) => each.deployable.providerUuid === provider.uuid);
    if (!own) continue;
    const end = await removeProvider(deps, provider, own);
    ends.push(end);
    // The first goes with its device: without it nobody comes here for the device's own row, which a
    // report that is under way marks last.
    const isKept = !device.isGone && provider.uuid === device.providers[0];
    if (end === 'removed' && !isKept) removed.push(own);
  }
  const isNamed = (each: StoredProvider) =>
    each.deployable.providerUuid === named.deployable.providerUuid;
  // Maintenance outlasts the device's absence: it may only have lost its link.
  if (!(device.isGone && device.status === 'maintaining')) {
    for (const own of removed.filter((each) => !isNamed(each))) await deleteGoneRows(deps, own);
    const mayGo = device.isGone && ends.every((end) => end === 'removed');
    // Maintenance may have begun just now; by the last row the device is found when it ends.
    const isLeft = mayGo && !(await deps.store.inventory.deleteGoneDevice(device));
    const last = isLeft ? [] : removed.filter(isNamed);
    for (const own of last) await deleteGoneRows(deps, own);
  }
  if (ends.includes('allocated')) throw stillAllocated(device);
}

/** `claimed`: the end of the last claim brings the device here again. */
type RemovalEnd = 'removed' | 'claimed' | 'allocated';

/** Deletes the provider, or offers nothing more of it while something still holds a part. */
async function removeProvider(
  deps: ConsumerDeps,
  wanted: WantedProvider,
  own: StoredProvider,
): Promise<RemovalEnd> {
  const { placement } = deps.clients;
  const isInUse = isClaimed(own);
  if (!isInUse && (await placement.deleteProvider(wanted.uuid)) !== 'in-use') return 'removed';
  if (await placement.getProvider(wanted.uuid)) await putInventories(deps, wanted);
  return isInUse ? 'claimed' : 'allocated';
}

async function deleteGoneRows(deps: ConsumerDeps, own: StoredProvider): Promise<void> {
  if (!own.deployable.isGone) return;
  await deps.store.inventory.deleteGoneHandles(own.handles);
  await deps.store.inventory.deleteGoneDeployable(own.deployable);
}
