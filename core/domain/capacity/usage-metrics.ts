// Counts of one device: how its attach handles are used, and whether its host is present. They
// are made once an hour, when the device is compared with Placement, from rows that the
// comparison has read.

import { type DeploymentTypes, typesRefused } from '#core/domain/arq/attach-types.ts';
import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import { type AttachHandle, type Device, isOnHold } from '#core/domain/device/device.ts';
import { handleStateOf } from '#core/domain/device/handle-state.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import { isLost } from '#core/domain/host/presence.ts';

/**
 * `withheld`: unclaimed, but in maintenance, on hold, restored from a backup with an unknown
 * holder, or of a type that the host's hypervisor does not take.
 */
export const handleUses = ['free', 'withheld', 'claimed', 'releasing', 'quarantined'] as const;
type HandleUse = (typeof handleUses)[number];

/** `unknown`: neither a connection nor a report has been heard of for long. */
export const hostStates = ['present', 'absent', 'unknown'] as const;
export type HostState = (typeof hostStates)[number];

interface UsageMetrics {
  readonly handles: Readonly<Record<HandleUse, number>>;
  /** The state of the device's host, with one of its devices only. */
  readonly host?: HostState;
}

export function measureUsage(
  device: Device,
  providers: readonly StoredProvider[],
  { host, devices }: { readonly host: StoredHost; readonly devices: readonly Device[] },
  attachTypes: DeploymentTypes,
  nowMs: number,
): UsageMetrics {
  const handles = { free: 0, withheld: 0, claimed: 0, releasing: 0, quarantined: 0 };
  for (const provider of providers) {
    const isTaken = typesRefused(provider, attachTypes).length === 0;
    const isOffered = device.status === 'enabled' && !isOnHold(device) && isTaken;
    for (const handle of provider.handles) {
      const use = handleUse(handle, isOffered);
      if (use) handles[use] += 1;
    }
  }
  const first = devices.map(({ uuid }) => uuid).sort()[0];
  return { handles, ...(first === device.uuid && { host: hostState(host, nowMs) }) };
}

/** Undefined for a handle that is gone and owes no release. */
export function handleUse(handle: AttachHandle, isOffered: boolean): HandleUse | undefined {
  const { restoredAt, ...rest } = handle;
  // A restored handle counts as held by its ARQ or release; without one it is withheld.
  const state = handleStateOf(rest);
  switch (state) {
    case 'gone':
      return handle.release && 'releasing';
    case 'cleaning':
      return 'releasing';
    case 'restored':
    case 'free':
      return restoredAt || !isOffered ? 'withheld' : 'free';
    default:
      return state;
  }
}

function hostState(host: StoredHost, nowMs: number): HostState {
  if (!isLost(host, nowMs)) return 'present';
  return host.presence ? 'absent' : 'unknown';
}
