// How attach handles are used, and whether hosts are there: what of one device is counted when it comes
// round to be compared with Placement, once an hour. All that is needed has been read by then.

import type { StoredProvider } from './bind-plan.ts';
import { type AttachHandle, type Device, type Host, isWithheld } from './device.ts';
import { isLost } from './presence.ts';

/** `withheld`: free, but in maintenance, or put back from a backup and not known to be nobody's. */
export const handleUses = ['free', 'withheld', 'claimed', 'releasing', 'quarantined'] as const;
export type HandleUse = (typeof handleUses)[number];

/** `unknown`: neither a connection nor a report has been heard of for long. */
export const hostStates = ['present', 'absent', 'unknown'] as const;
export type HostState = (typeof hostStates)[number];

export interface UsageMetrics {
  readonly handles: Readonly<Record<HandleUse, number>>;
  /** Of the device's host, by one of its devices only. */
  readonly host?: HostState;
}

export function usageMetricsOf(
  device: Device,
  providers: readonly StoredProvider[],
  { host, devices }: { readonly host: Host; readonly devices: readonly Device[] },
  nowMs: number,
): UsageMetrics {
  const handles = { free: 0, withheld: 0, claimed: 0, releasing: 0, quarantined: 0 };
  for (const handle of providers.flatMap((provider) => provider.handles)) {
    const use = useOf(handle, device);
    if (use) handles[use] += 1;
  }
  const first = devices.map(({ uuid }) => uuid).sort()[0];
  return { handles, ...(first === device.uuid && { host: hostState(host, nowMs) }) };
}

function useOf(handle: AttachHandle, device: Device): HandleUse | undefined {
  if (handle.quarantine !== undefined) return 'quarantined';
  if (handle.claim) return 'claimed';
  if (handle.release) return 'releasing';
  if (handle.isGone) return undefined;
  return isWithheld(handle) || device.status === 'maintaining' ? 'withheld' : 'free';
}

function hostState(host: Host, nowMs: number): HostState {
  if (!isLost(host, nowMs)) return 'present';
  return host.presence ? 'absent' : 'unknown';
}
