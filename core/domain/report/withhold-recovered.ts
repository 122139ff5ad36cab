import type { Device, DiscoveredDevice } from '#core/domain/device/device.ts';
import { type DeviceHealth, isUnhealthy } from '#core/domain/device/device-health.ts';
import type { ReportPlan } from './report-plan.ts';

/** How long a device has to be seen without a fault before it is offered again. */
export const healthyMinutes = 10;

const watchedAfter = '; before, it ';

/** The fault of a device that is unhealthy, or was until its watch of some minutes began. */
export function faultOf({ reason, healthySince }: DeviceHealth): string | undefined {
  return healthySince === undefined ? reason : reason?.split(watchedAfter).at(-1);
}

/**
 * The plan with devices as unhealthy that were so until a moment ago: a device whose faults come
 * and go would fail one server after the other. Its digest is left out, so that the agent is asked
 * to describe it again after each heartbeat. Pure.
 *
 * @param receivedAtMs when the broker got the report
 */
export function withholdRecovered(
  plan: ReportPlan,
  stored: readonly Device[],
  receivedAtMs: number,
): ReportPlan {
  const put = plan.put.map((device) => {
    const before = stored.find(({ address }) => address === device.address);
    const health = before && watched(before, device, receivedAtMs);
    return health ? { ...device, health, digest: '' } : device;
  });
  return { ...plan, put };
}

/** Undefined for a device that was healthy before, or has been for long enough. */
function watched(
  before: Device,
  device: DiscoveredDevice,
  receivedAtMs: number,
): DeviceHealth | undefined {
  const { health, identity, digest } = before;
  if (!health || !isUnhealthy(before) || isUnhealthy(device)) return undefined;
  const isOther = identity !== undefined && device.identity !== identity;
  // Without a digest, it was withheld as a moved card: the driver had not found a fault.
  if (isOther || (digest === '' && health.healthySince === undefined)) return undefined;
  if (health.healthySince === undefined) {
    const healthySince = new Date(receivedAtMs).toISOString();
    const reason = `has been without a fault since ${healthySince} only, and is offered again after ${healthyMinutes} minutes${watchedAfter}${health.reason}`;
    // The step was for the fault.
    const { nextStep: _, needsReboot: __, ...fault } = health;
    return { ...fault, reason, healthySince };
  }
  const healthyMs = receivedAtMs - Date.parse(health.healthySince);
  return healthyMs < healthyMinutes * 60_000 ? health : undefined;
}
