// A host as its capacity is measured, read now or by the sweep.

import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import type { Device } from '#core/domain/device/device.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import { pausedUntil } from '#core/domain/host/host-pause.ts';
import { deriveHostState, stoppedBy } from '#core/domain/host/host-state.ts';
import type { HostSummary } from '#core/domain/host/host-summary.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { CapacityHost } from './capacity.ts';

interface HostWithDevices {
  readonly host: StoredHost;
  readonly devices: readonly Device[];
  readonly summary?: HostSummary;
}

/** @param providers those of the host's devices, with all their handles */
export function toCapacityHost(
  { host, devices, summary }: HostWithDevices,
  providers: readonly StoredProvider[],
  nowMs: number,
): CapacityHost {
  const reported = new Set(devices.flatMap(({ isGone, uuid }) => (isGone ? [] : [uuid])));
  const { state } = deriveHostState(host, summary ?? {}, nowMs);
  return {
    hostname: host.hostname,
    providers: providers.filter(({ deployable }) => reported.has(deployable.deviceUuid)),
    isPaused: pausedUntil(host, nowMs) !== undefined,
    ...present({ stoppedBy: stoppedBy(state) }),
  };
}
