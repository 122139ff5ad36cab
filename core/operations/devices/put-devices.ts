import type { Deps } from '#core/deps.ts';
import type {
  AttachHandle,
  AttachType,
  Device,
  DiscoveredDevice,
} from '#core/domain/device/device.ts';
import { type DeviceHold, marksFor } from '#core/domain/device/device-holds.ts';
import { type DevicePlan, planDevice } from '#core/domain/report/device-plan.ts';
import { planRetirement } from '#core/domain/report/plan-retirement.ts';
import { devicesAtOnce, forEachAtOnce } from '#core/operations/for-each-at-once.ts';
import { newDeviceGroups } from '#core/store/inventory/inventory.ts';
import { timeNow } from '../time-now.ts';

/**
 * Stores devices as the host's report describes them. Runs under the lease of the host's reports,
 * and ends when all writes have ended: none may follow the end of the lease.
 */
export async function putDevices(
  deps: Deps,
  hostname: string,
  devices: readonly Device[],
  described: readonly DiscoveredDevice[],
  hostAttachTypes?: readonly AttachType[],
): Promise<void> {
  const stored = new Map(devices.map((device) => [device.address, device]));
  const restoredAt = onDemand(() => deps.store.inventory.restoredAt());
  const storedHolds = onDemand(() => deps.store.holds.holds());
  const added: DevicePlan[] = [];
  await forEachAtOnce(described, devicesAtOnce, async (discovered) => {
    const was = stored.get(discovered.address);
    const plan = await planFor(deps, hostname, was, discovered, hostAttachTypes);
    const now = timeNow(deps);
    const withheld = await withheldIfUnknown(plan, now, restoredAt);
    const { attachmentFaults: faults, uuid } = plan.device;
    if (faults) {
      deps.log.warn('Device not attached as bound', { host: hostname, device: uuid, faults });
    }
    if (plan.isNew) added.push(withMarks(withheld, (await storedHolds()).holds));
    else await deps.store.inventory.putDevice(withheld);
  });
  await forEachAtOnce(newDeviceGroups(added), devicesAtOnce, (group) =>
    deps.store.inventory.putNewDevices(group),
  );
}

/** A new device that a hold matches is never offered. */
function withMarks(plan: DevicePlan, holds: readonly DeviceHold[]): DevicePlan {
  const marks = marksFor(plan.device, holds);
  if (marks.length === 0) return plan;
  return {
    ...plan,
    device: { ...plan.device, holds: marks },
    deployables: plan.deployables.map((each) => ({ ...each, isOnHold: true })),
  };
}

/** Stores that the host no longer reports these devices. */
export async function retireDevices(deps: Deps, devices: readonly Device[]): Promise<void> {
  const { inventory } = deps.store;
  await forEachAtOnce(devices, devicesAtOnce, async (device) => {
    const providers = await inventory.providers(device.providers);
    const now = timeNow(deps);
    await inventory.putDevice(planRetirement({ device, providers }, now));
  });
}

async function planFor(
  deps: Deps,
  hostname: string,
  was: Device | undefined,
  discovered: DiscoveredDevice,
  hostAttachTypes: readonly AttachType[] | undefined,
): Promise<DevicePlan> {
  const stored = was && {
    device: was,
    providers: await deps.store.inventory.providers(was.providers),
  };
  const now = timeNow(deps);
  return planDevice(hostname, stored, discovered, now, hostAttachTypes);
}

/**
 * Withholds handles that a restored backup or an import lacks: servers may have had them before.
 */
async function withheldIfUnknown(
  plan: DevicePlan,
  now: string,
  lastRestore: () => Promise<string | undefined>,
): Promise<DevicePlan> {
  const isAdding = plan.addHandles.length > 0 || plan.reviveHandles.length > 0;
  const restoredAt = isAdding && (plan.device.adopted ? now : await lastRestore());
  if (!restoredAt) return plan;
  const withheld = (handle: AttachHandle): AttachHandle => ({ ...handle, restoredAt });
  return {
    ...plan,
    addHandles: plan.addHandles.map(withheld),
    reviveHandles: plan.reviveHandles.map(withheld),
  };
}

/** Reads once, when it is first asked for: no restore runs while reports are applied. */
function onDemand<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined;
  return () => (reading ??= read());
}
