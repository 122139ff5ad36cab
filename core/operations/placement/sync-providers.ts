import { isDeepStrictEqual } from 'node:util';
import { ServiceUnavailable } from '#core/clients/http.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import type { Device } from '#core/domain/device/device.ts';
import type { ProviderUuid } from '#core/domain/ids.ts';
import { type WantedProvider, wantedProviders } from '#core/domain/placement/provider-tree.ts';
import { pauseSeconds, RetryLater } from '#core/domain/retry-later.ts';
import { contended, untilWritten } from '#core/operations/optimistic-writes.ts';
import { reinstateHandles } from '#core/operations/restore/reinstate-handles.ts';
import type { HostInventory } from '#core/store/hosts/hosts.ts';
import { findOtherOwner, foreignProviders, readTree } from './find-other-owner.ts';
import { markIncomplete } from './mark-incomplete.ts';
import { markOtherOwner, sayOfferedTwice, withhold } from './offered-twice.ts';
import { ComputeProviderMissing, ProviderOfOtherStack, putProvider } from './put-provider.ts';
import {
  deleteGoneRows,
  isNeeded,
  removeProviders,
  removeUnstored,
  stillAllocated,
} from './remove-providers.ts';
import { isNew, reserveHeld } from './reserve-held.ts';

/**
 * Makes Placement hold one device as it is stored: its provider, the providers of its regions, and
 * none for what is gone. Repeatable; touches only providers of this stage. After writing, each run
 * reads the device again: of two runs that overlap, the last to write has written the stored
 * state.
 *
 * @param attempt which delivery this is, from 1
 * @throws RetryLater while the compute node's provider is missing, a provider that must go still
 *   has allocations, or Placement is away; at the first delivery, also where Placement has lost a
 *   provider of the device
 */
export async function syncProviders(
  deps: ConsumerDeps,
  providerUuid: ProviderUuid,
  attempt: number,
): Promise<void> {
  await sync(deps, providerUuid, { attempt, restoresLost: attempt > 1 });
}

/** The same, and writes what Placement has lost at once. */
export async function restoreProviders(deps: ConsumerDeps, provider: ProviderUuid): Promise<void> {
  await sync(deps, provider, { attempt: 1, restoresLost: true });
}

async function sync(
  deps: ConsumerDeps,
  providerUuid: ProviderUuid,
  { attempt, restoresLost }: { attempt: number; restoresLost: boolean },
): Promise<void> {
  const written = new Set<ProviderUuid>();
  await untilWritten(
    'devices',
    async () => {
      const before = await readDevice(deps, providerUuid);
      try {
        if (before && (await syncDevice(deps, before, restoresLost)) === contended)
          return contended;
        if (!before) await removeUnstored(deps, providerUuid, written);
      } catch (error) {
        throw retriedIfPassing(deps, error, before?.named.deployable.hostname, attempt);
      }
      for (const { uuid } of before?.planned ?? []) written.add(uuid);
      const after = await readDevice(deps, providerUuid);
      return isDeepStrictEqual(after?.planned, before?.planned) ? undefined : contended;
    },
    () => new RetryLater(`The device of provider ${providerUuid} keeps changing.`, 1),
  );
}

/** The error, or RetryLater where Placement is away or has no provider of the compute node yet. */
function retriedIfPassing(
  deps: ConsumerDeps,
  error: unknown,
  host: string | undefined,
  attempt: number,
): unknown {
  const isPassing = error instanceof ServiceUnavailable || error instanceof ComputeProviderMissing;
  if (!isPassing) return error;
  deps.log.warn('Placement not synchronised yet', { host, error: error.message });
  return new RetryLater(error.message, pauseSeconds(attempt, deps.random()));
}

interface StoredDevice {
  /** The provider that the message names. */
  readonly named: StoredProvider;
  readonly inventory: HostInventory;
  /** Undefined where the device's row was deleted before the rows of its providers. */
  readonly device: Device | undefined;
  readonly providers: readonly StoredProvider[];
  readonly planned: readonly WantedProvider[];
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
  if (!device) return { named, inventory, device, providers: [], planned: [] };
  const providers = await deps.store.inventory.providers(device.providers);
  const planned = wantedProviders(device, providers, deps.settings);
  return { named, inventory, device, providers, planned };
}

/** `contended`: units that must be reserved have just been marked. */
async function syncDevice(
  deps: ConsumerDeps,
  { named, inventory, device, providers, planned }: StoredDevice,
  restoresLost: boolean,
): Promise<typeof contended | undefined> {
  if (!device) {
    // Rows are deleted in this order: other providers, the device, and last the named provider.
    await deleteGoneRows(deps, named);
    return undefined;
  }
  await markIncomplete(deps, device, providers);
  // A region that was added while an operator set the status still has the earlier status.
  for (const { deployable } of providers) {
    if (deployable.deviceStatus === device.status) continue;
    await deps.store.inventory.copyStatus(device, deployable);
  }
  const kept = planned.filter((each) => !each.isGone);
  // Before Placement is read, which may be away.
  const { otherOwner } = device;
  if (otherOwner && (await markOtherOwner(deps, device, providers, otherOwner))) return contended;
  const tree = kept.length > 0 ? await readTree(deps, device.hostname) : [];
  const foreign = foreignProviders(tree, inventory.devices);
  const owner = await findOtherOwner(deps, foreign, device, async () => providers);
  if (await markOtherOwner(deps, device, providers, owner)) return contended;
  let mustComeAgain = false;
  if (owner) await withhold(deps, device, kept, owner);
  else {
    if (restoresLost && (await reserveHeld(deps, tree, providers))) return contended;
    const end = await putAll(deps, device, kept, providers, restoresLost);
    mustComeAgain = end === 'in-use';
    // In a conflict, the description may come from the other agent.
    const isOurs = end !== 'other-stack' && !device.conflictSince;
    if (isOurs) await reinstateHandles(deps, device, providers);
  }
  const gone = planned.filter((provider) => provider.isGone);
  await removeProviders(deps, gone, providers, { device, named });
  if (mustComeAgain) throw stillAllocated(device);
  return undefined;
}

/**
 * Writes the providers, parents first, until one of them is another stack's: nothing of ours may
 * be below it. That stack deletes its providers when it forgets the host.
 */
async function putAll(
  deps: ConsumerDeps,
  device: Device,
  planned: readonly WantedProvider[],
  providers: readonly StoredProvider[],
  restoresLost: boolean,
): Promise<'done' | 'in-use' | 'other-stack'> {
  let isInUse = false;
  for (const each of planned) {
    try {
      const stored = providers.find(({ deployable }) => deployable.providerUuid === each.uuid);
      const mayCreate = restoresLost || !stored || isNew(stored, deps.clock());
      const end = await putProvider(deps, device.hostname, each, mayCreate);
      // A server may keep the allocation for months: the next reconcile compares again.
      if (end === 'in-use' && !isNeeded(stored)) isInUse = true;
    } catch (error) {
      if (!(error instanceof ProviderOfOtherStack)) throw error;
      sayOfferedTwice(deps, device, 'Device offered by another stack, too: forget its host there', {
        provider: each.uuid,
        name: each.name,
        stack: error.mark,
      });
      return 'other-stack';
    }
  }
  return isInUse ? 'in-use' : 'done';
}
