import { hostAnswer, hostDetailAnswer } from '#core/contracts/api/operator/hosts.ts';
import { incidentAnswer } from '#core/contracts/api/operator/incidents.ts';
import { assignmentAnswer } from '#core/contracts/api/operator/use.ts';
import type { Arq, ArqBinding, ShownState } from '#core/domain/arq/arq.ts';
import { allNotOffered, type DeploymentTypes } from '#core/domain/arq/attach-types.ts';
import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import type { HostCapacity, Obstacle } from '#core/domain/capacity/capacity.ts';
import { type Device, operatorStatus } from '#core/domain/device/device.ts';
import { hasLostUnit } from '#core/domain/device/device-attachments.ts';
import { isUnhealthy } from '#core/domain/device/device-health.ts';
import { activeGrants } from '#core/domain/device/firmware/program-grants.ts';
import { type HandleState, handleStateOf } from '#core/domain/device/handle-state.ts';
import type { Incident } from '#core/domain/history/incidents.ts';
import { runbooks } from '#core/domain/history/runbooks.ts';
import type { StoredHost } from '#core/domain/host/host.ts';
import { pausedUntil } from '#core/domain/host/host-pause.ts';
import { deriveHostState } from '#core/domain/host/host-state.ts';
import type { HostSummary } from '#core/domain/host/host-summary.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import type { HostInventory } from '#core/store/hosts/hosts.ts';
import type { ProviderPlace } from '#core/store/inventory/provider-places.ts';

type Counts = Pick<HostSummary, 'devices' | 'notOffered'>;

type Summary = Partial<Pick<HostSummary, 'firstSeen' | 'clockAheadSeconds'>>;

export function viewHost(host: StoredHost, summary: Summary, counts: Counts, nowMs: number) {
  return toWire(hostAnswer, { ...hostFields(host, summary, nowMs), ...counts });
}

function hostFields(host: StoredHost, summary: Summary, nowMs: number) {
  const { state, since } = deriveHostState(host, summary, nowMs);
  const { drain } = host;
  return {
    ...host,
    state,
    stateSince: since,
    failedDrivers: host.failedDrivers ?? [],
    clockAheadSeconds: summary.clockAheadSeconds,
    drained: drain && { ...drain, since: drain.at },
    paused: viewPause(host, nowMs),
  };
}

function viewPause(host: StoredHost, nowMs: number) {
  const { failedJobs } = host;
  const until = pausedUntil(host, nowMs);
  if (!failedJobs || until === undefined) return undefined;
  return { ...failedJobs, failedJobs: failedJobs.count, until };
}

export function viewHostDetail(
  inventory: HostInventory,
  providers: readonly StoredProvider[],
  deploymentTypes: DeploymentTypes,
  nowMs: number,
) {
  const { host, devices, summary } = inventory;
  const { conflict } = host;
  const boots = conflict?.boots.map((boot) => ({ ...boot, lastReportAt: boot.lastAt }));
  return toWire(hostDetailAnswer, {
    ...hostFields(host, summary ?? {}, nowMs),
    devices: devices
      .filter(({ isGone }) => !isGone)
      .map((each) => viewHostDevice(each, providers, nowMs)),
    servers: countServers(providers),
    notOffered: allNotOffered(inventory, deploymentTypes),
    conflict: conflict && { ...conflict, boots: boots ?? [] },
  });
}

function countServers(providers: readonly StoredProvider[]): number {
  const claims = providers.flatMap(({ handles }) => handles.flatMap(({ claim }) => claim ?? []));
  return new Set(claims.map(({ instanceUuid }) => instanceUuid)).size;
}

function viewHostDevice(device: Device, providers: readonly StoredProvider[], nowMs: number) {
  const ownProviders = providers.filter(({ deployable }) => deployable.deviceUuid === device.uuid);
  const handles: Partial<Record<HandleState, number>> = {};
  for (const handle of ownProviders.flatMap((each) => each.handles)) {
    const state = handleStateOf(handle);
    handles[state] = (handles[state] ?? 0) + 1;
  }
  return {
    ...device,
    status: operatorStatus(device.status),
    reason: device.statusChange?.reason,
    health: healthReason(device),
    grants: activeGrants(device.grants, nowMs),
    holds: device.holds ?? [],
    handles,
  };
}

/** @param place undefined where the device's rows were deleted while the ARQs were read */
export function viewAssignment(
  arq: Omit<Arq, 'state'> & { readonly state: ShownState },
  place: ProviderPlace | undefined,
) {
  const { device, deployable } = place ?? {};
  const { attachment } = arq.binding ?? {};
  return toWire(assignmentAnswer, {
    ...arq,
    deviceUuid: device?.uuid,
    deviceAddress: device?.address,
    hostname: arq.binding?.hostname,
    type: device?.type,
    resourceClass: deployable?.resourceClass,
    attachHandleUuid: attachment?.handleUuid,
    attachType: attachment?.type,
    attachInfo: attachment?.info,
    arqUuid: arq.uuid,
    arqState: arq.state,
    deviceProfileRevision: arq.profileRevision,
    instanceUuid: arq.binding?.instanceUuid,
    boundSince: arq.updatedAt ?? arq.createdAt,
    deviceStatus: operatorStatus(device?.status),
    deviceHealth: device && healthReason(device, arq.binding),
    maintenanceUntil: device?.status === 'maintaining' ? device.statusChange?.until : undefined,
  });
}

function healthReason(device: Device, binding?: ArqBinding): string | undefined {
  const { instanceUuid, attachment } = binding ?? {};
  const unit = attachment && { ...attachment, uuid: attachment.handleUuid };
  const isLost = instanceUuid && unit && hasLostUnit(device, instanceUuid, unit);
  if (device.isGone || isLost) return 'is gone: its host no longer reports it';
  return isUnhealthy(device) ? device.health?.reason : undefined;
}

/** The sum of hosts. */
export function viewFits(hosts: readonly HostCapacity[]) {
  const stopped: Partial<Record<Obstacle, number>> = {};
  for (const { stoppedBy } of hosts) {
    for (const [obstacle, count] of Object.entries(stoppedBy) as [Obstacle, number][]) {
      stopped[obstacle] = (stopped[obstacle] ?? 0) + count;
    }
  }
  return {
    fits: hosts.reduce((sum, { fits }) => sum + fits, 0),
    stopped_by: viewObstacles(stopped),
  };
}

export function viewTotal(hosts: readonly HostCapacity[]) {
  return { ...viewFits(hosts), hosts: hosts.filter(({ fits }) => fits > 0).length };
}

export function viewHostCapacity({ hostname, fits, stoppedBy }: HostCapacity) {
  return { hostname, fits, stopped_by: viewObstacles(stoppedBy) };
}

/** The most frequent first. */
function viewObstacles(stopped: HostCapacity['stoppedBy']) {
  return Object.entries(stopped)
    .map(([reason, count]) => ({ reason, count }))
    .sort((one, other) => other.count - one.count);
}

export function viewIncident(incident: Incident) {
  const section = runbooks[incident.kind];
  return toWire(incidentAnswer, {
    ...incident,
    deviceProfileName: incident.profileName,
    runbook: section && `docs/operations.md#${section}`,
  });
}
