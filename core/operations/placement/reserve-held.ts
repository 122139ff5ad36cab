import type { Provider } from '#core/clients/openstack/placement.ts';
import type { ConsumerDeps } from '#core/consumer-deps.ts';
import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import { writtenWithinMs } from '#core/domain/placement/tree-looks.ts';
import { boundArqs } from '#core/operations/host-work/bound-arqs.ts';

/**
 * Marks the units that instances hold of providers that Placement has lost. Their allocations are
 * lost, too: without the marks Placement would offer these units when it has the providers again.
 * The marks end with the bindings. Returns whether a binding was marked or has changed.
 *
 * @param tree of the device's compute node
 */
export async function reserveHeld(
  deps: ConsumerDeps,
  tree: readonly Provider[],
  providers: readonly StoredProvider[],
): Promise<boolean> {
  const lost = await findLostOf(deps, tree, providers);
  const uuids = new Set(lost.map(({ deployable }) => deployable.providerUuid));
  const claims = lost.flatMap(({ handles }) => handles.flatMap(({ claim }) => claim ?? []));
  const unmarked = claims.filter(({ isReserved }) => !isReserved);
  let isChanged = false;
  for (const instanceUuid of new Set(unmarked.map((claim) => claim.instanceUuid))) {
    const binding = await deps.store.arqs.binding(instanceUuid);
    if (!binding) continue;
    const arqs = await boundArqs(deps, binding);
    const held = arqs.filter((arq) => uuids.has(arq.binding.providerUuid));
    await deps.store.reaper.reserveLost(binding, held);
    isChanged = true;
    deps.log.warn('Instance has lost its allocation', { instance: instanceUuid });
  }
  return isChanged;
}

async function findLostOf(
  { clients: { placement }, clock }: ConsumerDeps,
  tree: readonly Provider[],
  providers: readonly StoredProvider[],
): Promise<StoredProvider[]> {
  const lost: StoredProvider[] = [];
  for (const stored of providers) {
    const { providerUuid, isGone } = stored.deployable;
    if (isGone || isNew(stored, clock()) || tree.some(({ uuid }) => uuid === providerUuid))
      continue;
    // It may be below a compute node of another name.
    if (!(await placement.getProvider(providerUuid))) lost.push(stored);
  }
  return lost;
}

/** Its provider may never have been written. */
export function isNew({ deployable }: StoredProvider, nowMs: number): boolean {
  return Date.parse(deployable.createdAt) + writtenWithinMs > nowMs;
}
