import type { Arq } from '#core/domain/arq/arq.ts';
import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import type { HostCapacity, Obstacle } from '#core/domain/capacity/capacity.ts';
import type { Device } from '#core/domain/device/device.ts';
import { isUnhealthy } from '#core/domain/device/device-facts.ts';
import { type HandleState, handleStateOf } from '#core/domain/device/handle-state.ts';
import type { Incident } from '#core/domain/history/incidents.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import { pausedUntil } from '#core/domain/host/host-pause.ts';
import { drainOf, hostStateOf } from '#core/domain/host/host-state.ts';
import type { HostSummary } from '#core/domain/host/host-summary.ts';
import type { HostInventory } from '#core/store/hosts/hosts.ts';
import type { ProviderPlace } from '#core/store/inventory/provider-places.ts';
import { timestamp } from '#functions/http/links.ts';

type Counts = Pick<HostSummary, 'devices' | 'notOffered'>;

export function viewHost(
  host: StoredHost,
  summary: Partial<Pick<HostSummary, 'firstSeen' | 'clockAheadSeconds'>>,
  counts: Counts,
  nowMs: number,
) {
  const { state, since } = hostStateOf(host, summary, nowMs);
  return {
    hostname: host.hostname,
    state,
    state_since: timestamp(since),
    agent_version: host.agentVersion ?? null,
    boot_id: host.bootId ?? null,
    last_report_at: timestamp(host.lastReportAt),
    failed_drivers: host.failedDrivers ?? [],
    clock_ahead_seconds: summary.clockAheadSeconds ?? null,
    devices: counts.devices,
    not_offered: counts.notOffered,
    drained: viewDrain(host, nowMs),
    paused: viewPause(host, nowMs),
  };
}

function viewDrain(host: StoredHost, nowMs: number) {
  const drain = drainOf(host, nowMs);
  if (!drain) return null;
  const { by, at, reason, until } = drain;
  return { by, since: timestamp(at), reason, until: timestamp(until) };
}

function viewPause(host: StoredHost, nowMs: number) {
  const { failedJobs } = host;
  const until = pausedUntil(host, nowMs);
  if (!failedJobs || until === undefined) return null;
  const { count, lastAt, reason } = failedJobs;
  return {
    failed_jobs: count,
    last_at: timestamp(lastAt),
    reason,
    until: timestamp(until),
  };
}

export function viewHostDetail(
  { host, devices, notOffered, summary }: HostInventory,
  providers: readonly StoredProvider[],
  nowMs: number,
) {
  const present = devices.filter(({ isGone }) => !isGone);
  const counts = { devices: present.length, notOffered: notOffered.length };
  const { conflict } = host;
  return {
    ...viewHost(host, summary ?? {}, counts, nowMs),
    devices: present.map((device) => viewDevice(device, providers)),
    not_offered: notOffered,
    conflict: conflict
      ? {
          since: timestamp(conflict.since),
          boots: conflict.boots.map(({ bootId, bootedAt, lastAt }) => ({
            boot_id: bootId,
            booted_at: timestamp(bootedAt),
            last_report_at: timestamp(lastAt),
          })),
        }
      : null,
  };
}

function viewDevice(device: Device, providers: readonly StoredProvider[]) {
  const own = providers.filter(({ deployable }) => deployable.deviceUuid === device.uuid);
  const handles: Partial<Record<HandleState, number>> = {};
  for (const handle of own.flatMap((each) => each.handles)) {
    const state = handleStateOf(handle);
    handles[state] = (handles[state] ?? 0) + 1;
  }
  const { uuid, address, type, driver, model, status, statusChange, health } = device;
  return {
    ...{ uuid, address, type, driver, model, status },
    reason: statusChange?.reason ?? null,
    health: health && isUnhealthy(device) ? health.reason : null,
    handles,
  };
}

/** @param place undefined where the device's rows were deleted while the ARQs were read */
export function viewAssignment({ uuid, binding, ...arq }: Arq, place: ProviderPlace | undefined) {
  const { device, deployable } = place ?? {};
  const { attachment } = binding ?? {};
  return {
    device_uuid: device?.uuid ?? null,
    device_address: device?.address ?? null,
    hostname: binding?.hostname ?? null,
    type: device?.type ?? null,
    resource_class: deployable?.resourceClass ?? null,
    attach_handle_uuid: attachment?.handleUuid ?? null,
    attach_type: attachment?.type ?? null,
    attach_info: attachment?.info ?? null,
    arq_uuid: uuid,
    arq_state: arq.state,
    device_profile_name: arq.deviceProfileName,
    instance_uuid: binding?.instanceUuid ?? null,
    project_id: arq.projectId,
    bound_since: timestamp(arq.updatedAt ?? arq.createdAt),
  };
}

/** @param profile of a stored profile the name */
export function viewCapacity(profile: string | null, found: readonly HostCapacity[]) {
  const stopped: Partial<Record<Obstacle, number>> = {};
  for (const { stoppedBy } of found) {
    for (const [obstacle, count] of Object.entries(stoppedBy) as [Obstacle, number][]) {
      stopped[obstacle] = (stopped[obstacle] ?? 0) + count;
    }
  }
  return {
    profile,
    fits: found.reduce((sum, { fits }) => sum + fits, 0),
    stopped_by: viewObstacles(stopped),
    hosts: found.map(({ hostname, fits, stoppedBy }) => ({
      hostname,
      fits,
      stopped_by: viewObstacles(stoppedBy),
    })),
  };
}

/** The most frequent first. */
function viewObstacles(stopped: HostCapacity['stoppedBy']) {
  return Object.entries(stopped)
    .map(([reason, count]) => ({ reason, count }))
    .sort((one, other) => other.count - one.count);
}

export function viewIncident(incident: Incident) {
  return {
    kind: incident.kind,
    since: timestamp(incident.since),
    hostname: incident.hostname,
    device_uuid: incident.deviceUuid ?? null,
    arq_uuid: incident.arqUuid ?? null,
    instance_uuid: incident.instanceUuid ?? null,
    project_id: incident.projectId ?? null,
    device_profile_name: incident.profileName ?? null,
    reason: incident.reason,
    next_step: incident.nextStep,
    action: incident.action ?? null,
  };
}
