import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import type { AttachHandle, Device } from '#core/domain/device/device.ts';
import { findUnknownConsumers } from '#core/domain/placement/unknown-consumers.ts';
import { checkVisibility } from '#core/operations/release/reap/visibility.ts';
import { returnToPool } from '#core/operations/release/return-to-pool.ts';

/**
 * Reinstates handles that were restored from a backup or imported, once their host has described
 * the device since and Placement has no allocation of an unknown consumer on the provider: then no
 * other instance can hold a handle that is free.
 *
 * The caller has Placement reserve the whole provider first, so that nothing is allocated
 * meanwhile.
 */
export async function reinstateHandles(
  deps: ConsumerDeps,
  device: Device,
  providers: readonly StoredProvider[],
): Promise<void> {
  // A card that is withheld has been described, although it has no digest.
  const isDescribed = device.digest !== '' || device.cardCleaning?.withheldSince !== undefined;
  if (!isDescribed || device.isGone) return;
  // An imported device may be offered by other providers than those that servers got it from.
  if (device.adopted && (await hasUnknown(deps, providers))) return;
  for (const { deployable, handles } of providers) {
    const restored = handles.filter(({ restoredAt }) => restoredAt !== undefined);
    if (restored.length === 0) continue;
    const { unknown, moved } = await findBlockingConsumers(deps, { deployable, handles });
    const consumers = [...unknown, ...moved];
    if (consumers.length > 0) {
      deps.log.warn('Handles not reinstated: unknown consumers', {
        host: device.hostname,
        provider: deployable.providerUuid,
        consumers,
      });
      continue;
    }
    await returnToPool(deps, device.hostname, restored);
  }
}

interface BlockingConsumers {
  /** Instances that have an allocation of the provider, and no claim or too few. */
  readonly unknown: readonly string[];
  /** Instances with a claim that may have changed to another handle after the backup. */
  readonly moved: readonly string[];
}

/** Instances because of which the restored handles of the provider are withheld. */
export async function findBlockingConsumers(
  deps: ConsumerDeps,
  { deployable, handles }: StoredProvider,
): Promise<BlockingConsumers> {
  if (handles.every(({ restoredAt }) => restoredAt === undefined))
    return { unknown: [], moved: [] };
  const allocated = await deps.clients.placement.allocationsOf(deployable.providerUuid);
  return {
    unknown: findUnknownConsumers(allocated, handles),
    moved: await movedWithin(deps, handles),
  };
}

async function hasUnknown(
  { clients: { placement }, log }: ConsumerDeps,
  providers: readonly StoredProvider[],
): Promise<boolean> {
  const isWithheld = providers.some(({ handles }) => handles.some(({ restoredAt }) => restoredAt));
  if (!isWithheld) return false;
  for (const { deployable, handles } of providers) {
    const { providerUuid: provider, hostname: host } = deployable;
    const consumers = findUnknownConsumers(await placement.allocationsOf(provider), handles);
    if (consumers.length === 0) continue;
    log.warn('Handles not reinstated: unknown consumers', { host, provider, consumers });
    return true;
  }
  return false;
}

/**
 * Instances that may have changed to another handle of the same provider after the backup.
 * Placement shows no difference then, but Nova has updated the server.
 */
async function movedWithin(
  deps: ConsumerDeps,
  handles: readonly AttachHandle[],
): Promise<string[]> {
  if (handles.length === 1) return [];
  const claimed = handles.flatMap(({ claim, restoredAt }) =>
    claim && restoredAt ? [{ claim, sinceMs: Date.parse(restoredAt) }] : [],
  );
  const moved: string[] = [];
  let isVisible: boolean | undefined;
  for (const { claim, sinceMs } of claimed) {
    const server = await deps.clients.nova.server(claim.instanceUuid);
    if (server === 'not-found') {
      // A server that is gone holds no handle. But without access to other projects' servers, Nova
      // answers 404 for all of them.
      isVisible ??= (await checkVisibility(deps.clients)) === 'seen';
      if (!isVisible) moved.push(claim.instanceUuid);
      continue;
    }
    // Nova's times are whole seconds.
    const changedMs = Date.parse(server.updatedAt ?? '');
    if (!(changedMs < sinceMs - 1000)) moved.push(claim.instanceUuid);
  }
  return moved;
}
