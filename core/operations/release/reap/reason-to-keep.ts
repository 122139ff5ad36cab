import type { ConsumerDeps } from '#core/consumer-deps.ts';
import { heldHandles, type InstanceBinding } from '#core/domain/arq/arq.ts';
import type { InstanceUuid } from '#core/domain/ids.ts';

/** What Nova says of a server. */
type ServerState = 'on-host' | 'no-host' | 'absent';

export async function serverState(
  { clients: { nova } }: ConsumerDeps,
  instanceUuid: InstanceUuid,
): Promise<ServerState> {
  const server = await nova.server(instanceUuid);
  if (server === 'not-found') return 'absent';
  return server.host === null ? 'no-host' : 'on-host';
}

/** Why an instance that Nova has on no host keeps its devices; undefined for nothing. */
export async function reasonToKeep(
  deps: ConsumerDeps,
  binding: InstanceBinding,
): Promise<string | undefined> {
  // The instance may be moving to devices of another service.
  const allocations = await deps.clients.placement.getAllocations(binding.instanceUuid);
  if (Object.keys(allocations).length > 0) return 'Placement has an allocation for it.';
  if (await hasRestored(deps, binding)) return 'It has an attach handle that was restored.';
  return undefined;
}

/**
 * Whether the binding has a restored handle, which may have another holder since the backup: the
 * host must not clean it.
 */
async function hasRestored(deps: ConsumerDeps, binding: InstanceBinding): Promise<boolean> {
  const arqs = await deps.store.arqs.byUuids(binding.arqUuids);
  const providers = await deps.store.inventory.providersOf(heldHandles(arqs.values()));
  return providers.some(({ handles }) => handles.some(({ restoredAt }) => restoredAt));
}
