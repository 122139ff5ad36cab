// The devices of a report beside the stored ones of their host. Runs under the lease of the host's
// reports, so no other report can store between the read and the writes.

import type { Deps } from '#core/deps.ts';
import type { Device } from '#core/domain/device/device.ts';
import { hasGivenUuids, refuseTaken } from '#core/domain/report/refuse-taken.ts';
import type { ReportPlan } from '#core/domain/report/report-plan.ts';
import {
  mayBePool,
  type StoredHandles,
  withholdHeldElsewhere,
} from '#core/domain/report/withhold-held-elsewhere.ts';

/**
 * The plan without devices that have a name of another one; with devices withheld whose functions
 * have joined or left a pool while a server has them.
 */
export async function compareDevices(
  deps: Deps,
  plan: ReportPlan,
  devices: readonly Device[],
): Promise<ReportPlan> {
  if (plan.put.length === 0) return plan;
  const withPools = mayBePool([...plan.put, ...devices]);
  const withMdevs = plan.put.some(hasGivenUuids);
  const isRead = ({ attachTypes = [] }: Device) =>
    withPools || (withMdevs && attachTypes.includes('MDEV'));
  const stored = await readHandles(deps, devices, isRead);
  const allowed = refuseTaken(plan, stored);
  if (!withPools) return allowed;
  const now = new Date(deps.clock()).toISOString();
  return { ...allowed, put: withholdHeldElsewhere(allowed.put, stored, now) };
}

/** Without handles if they are not read. */
async function readHandles(
  { store }: Deps,
  devices: readonly Device[],
  isRead: (device: Device) => boolean,
): Promise<StoredHandles[]> {
  const uuids = devices.filter(isRead).flatMap((each) => each.providers);
  const providers = uuids.length > 0 ? await store.inventory.providers(uuids) : [];
  return devices.map((device) => ({
    device,
    handles: providers
      .filter(({ deployable }) => deployable.deviceUuid === device.uuid)
      .flatMap(({ handles }) => handles),
  }));
}
