import type { ConsumerDeps } from '../../consumer-deps.ts';
import type { StoredProvider } from '../../domain/bind-plan.ts';
import type { AttachHandle, Device } from '../../domain/device.ts';
import { unknownConsumersOf } from '../../domain/unknown-consumers.ts';
import { checkVisibility } from '../release/visibility.ts';
import { returnToPool } from './return-to-pool.ts';

/**
 * Hands out again what was put back from a backup, once its host has described the device since
 * and Placement has nothing allocated of the provider for anybody we do not know: by then nobody
 * can have what we take for free.
 *
 * The caller has Placement reserve all of it before, so that nothing is allocated meanwhile.
 */
export async function reinstateHandles(
  deps: ConsumerDeps,
  device: Device,
  providers: readonly StoredProvider[],
): Promise<void> {
  if (device.digest === '' || device.isGone) return;
  for (const { deployable, handles } of providers) {
    const restored = handles.filter(({ restoredAt }) => restoredAt !== undefined);
    if (restored.length === 0) continue;
    const allocated = await deps.clients.placement.allocationsOf(deployable.providerUuid);
    const strangers = unknownConsumersOf(allocated, handles);
    strangers.push(...(await movedWithin(deps, handles)));
    if (strangers.length > 0) {
      deps.log.warn('Somebody has of this provider what the backup does not know of.', {
        host: device.hostname,
        provider: deployable.providerUuid,
        consumers: strangers,
      });
      continue;
    }
    await returnToPool(deps, device.hostname, restored);
  }
}

/**
 * Instances that may have given up their handle for another of the same provider since, be it free
 * by now or that of somebody who is gone: Placement cannot tell, but then Nova has changed them.
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
      // Whose server is gone has nothing any more; but to eyes that see no others' all are gone.
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
