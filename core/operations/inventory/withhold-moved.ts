import type { Deps } from '../../deps.ts';
import type { Device, DiscoveredDevice } from '../../domain/device.ts';
import { isUnheld, isWithheld } from '../../domain/handle-state.ts';
import { type MovedDevice, movedDevices } from '../../domain/moved-devices.ts';
import type { ReportPlan } from '../../domain/report-plan.ts';

/**
 * The plan with cards as unhealthy that were moved, or replaced, while handles are held or not
 * clean: a bind at the new place would give away what the last holder left on the card.
 */
export async function withholdMoved(
  deps: Deps,
  plan: ReportPlan,
  stored: readonly Device[],
): Promise<ReportPlan> {
  const reasons = new Map<string, string>();
  for (const moved of movedDevices(plan, stored)) {
    const held = await countHeld(deps, moved.from);
    if (held > 0) reasons.set(moved.address, reasonOf(moved, held));
  }
  if (reasons.size === 0) return plan;
  const put = plan.put.map((device) => {
    const reason = reasons.get(device.address);
    const before = stored.find(({ address }) => address === device.address);
    return reason === undefined ? device : unsettled(deps, device, before, reason);
  });
  return { ...plan, put };
}

async function countHeld(deps: Deps, { providers }: Device): Promise<number> {
  const found = await deps.store.inventory.providers(providers);
  const handles = found.flatMap((provider) => provider.handles);
  return handles.filter((handle) => !isUnheld(handle) || isWithheld(handle)).length;
}

/** A clause that completes "The device at <address> ...". */
function reasonOf({ address, from }: MovedDevice, held: number): string {
  const what =
    from.address === address
      ? `is another card than before, and ${held} attach handles of the earlier card`
      : `is the card that was at ${from.address}, and ${held} attach handles there`;
  return `${what} are held or not clean`;
}

/**
 * Keeps the identity of the card that the stored handles are about. Without a digest the agent is
 * asked to describe the device again, after each heartbeat.
 */
function unsettled(
  deps: Deps,
  device: DiscoveredDevice,
  before: Device | undefined,
  reason: string,
): DiscoveredDevice {
  const identity = before?.identity ?? device.identity;
  const isKnown = before?.health?.reason === reason;
  const since = isKnown ? before.health.since : new Date(deps.clock()).toISOString();
  if (!isKnown) deps.log.warn('Moved card withheld.', { address: device.address, reason });
  return {
    ...device,
    ...(identity && { identity }),
    health: { state: 'unhealthy', reason, since },
    digest: '',
  };
}
