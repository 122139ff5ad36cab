import type { Deps } from '../../deps.ts';
import type { AttachHandle, Device, DiscoveredDevice } from '../../domain/device.ts';
import { type DevicePlan, planDevice } from '../../domain/device-plan.ts';

/**
 * Stores one device as the host's report describes it. Runs under the lease of the host's reports.
 */
export async function putDevice(
  deps: Deps,
  hostname: string,
  was: Device | undefined,
  discovered: DiscoveredDevice,
): Promise<void> {
  const stored = was && {
    device: was,
    providers: await deps.store.inventory.providers(was.providers),
  };
  const plan: DevicePlan = planDevice(
    hostname,
    stored,
    discovered,
    new Date(deps.clock()).toISOString(),
  );
  await deps.store.inventory.putDevice(await withheldIfRestored(deps, plan));
}

/**
 * Withholds handles that a restored backup lacks: they may have been in use before the restore.
 */
async function withheldIfRestored(deps: Deps, plan: DevicePlan): Promise<DevicePlan> {
  const isAdding = plan.addHandles.length > 0 || plan.reviveHandles.length > 0;
  const restoredAt = isAdding && (await deps.store.inventory.restoredAt());
  if (!restoredAt) return plan;
  const withheld = (handle: AttachHandle): AttachHandle => ({ ...handle, restoredAt });
  return {
    ...plan,
    addHandles: plan.addHandles.map(withheld),
    reviveHandles: plan.reviveHandles.map(withheld),
  };
}
