// What one host adds to the metrics of the fleet. Pure.

import {
  allNotOffered,
  type DeploymentTypes,
  typesRefused,
} from '#core/domain/arq/attach-types.ts';
import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import { measureCapacity } from '#core/domain/capacity/capacity.ts';
import { toCapacityHost } from '#core/domain/capacity/capacity-host.ts';
import { handleUse } from '#core/domain/capacity/handle-uses.ts';
import { type Device, isOnHold } from '#core/domain/device/device.ts';
import { isBeingProgrammed, isUnhealthy } from '#core/domain/device/device-health.ts';
import { modelOf } from '#core/domain/device/firmware/component-image.ts';
import type { FirmwareBaseline } from '#core/domain/device/firmware/firmware-baselines.ts';
import {
  attachmentIncident,
  firmwareIncident,
  healthIncident,
  movedCardIncident,
  offeredTwiceIncident,
  powerCycleIncident,
} from '#core/domain/history/device-incidents.ts';
import {
  type IncidentKind,
  notOfferedIncident,
  overdueIncident,
} from '#core/domain/history/incidents.ts';
import type { NotOffered, StoredHost } from '#core/domain/host/host.ts';
import { deriveHostState } from '#core/domain/host/host-state.ts';
import type { HostSummary } from '#core/domain/host/host-summary.ts';
import type { DeviceProfile } from '#core/domain/profile/device-profile.ts';
import { deviceUuid } from '#core/domain/report/device-plan.ts';
import type { Sample } from '#core/shapes/fleet.ts';
import { needsHostRow } from './measure-minute.ts';
import { toSample } from './samples.ts';

interface MeasuredHost {
  readonly host: StoredHost;
  readonly devices: readonly Device[];
  readonly notOffered: readonly NotOffered[];
  readonly summary?: HostSummary;
}

export interface MeasureContext {
  readonly profiles: readonly Pick<DeviceProfile, 'name' | 'groups'>[];
  readonly baselines: readonly FirmwareBaseline[];
  readonly attachTypes: DeploymentTypes;
  readonly nowMs: number;
}

/** @param providers those of the host's devices, with all their handles */
export function measureHost(
  measured: MeasuredHost,
  providers: readonly StoredProvider[],
  context: MeasureContext,
): Sample[] {
  const { host } = measured;
  const devices = measured.devices.filter(({ isGone }) => !isGone);
  return [
    ...devices.map((device) =>
      toSample('cyborg_devices', [device.type, modelOf(device), deviceState(device)]),
    ),
    ...measured.devices.flatMap((device) =>
      measureHandles(
        device,
        providers.filter(({ deployable }) => deployable.deviceUuid === device.uuid),
        context,
      ),
    ),
    ...measureProfiles(measured, providers, context),
    ...(host.drain ? [toSample('cyborg_hosts_drained', [])] : []),
    ...(isSilent(measured, context.nowMs) ? [toSample('cyborg_hosts_silent', [])] : []),
    ...incidents(measured, providers, context).map((kind) => toSample('cyborg_incidents', [kind])),
  ];
}

/** Its summary alone says that it is online: the event that its connection has ended was lost. */
function isSilent({ host, summary }: MeasuredHost, nowMs: number): boolean {
  if (!summary || needsHostRow(summary)) return false;
  return deriveHostState(host, summary, nowMs).state === 'away';
}

/** The first that applies is why no bind takes the device. */
export const deviceStates = [
  'conflict',
  'offered-twice',
  'unhealthy',
  'programming',
  'disabled',
  'on-hold',
  'ok',
] as const;

function deviceState(device: Device): (typeof deviceStates)[number] {
  if (device.conflictSince) return 'conflict';
  if (device.offeredTwice) return 'offered-twice';
  if (isUnhealthy(device)) return 'unhealthy';
  if (isBeingProgrammed(device)) return 'programming';
  if (device.status !== 'enabled') return 'disabled';
  return isOnHold(device) ? 'on-hold' : 'ok';
}

function measureHandles(
  device: Device,
  providers: readonly StoredProvider[],
  { attachTypes }: MeasureContext,
): Sample[] {
  const model = modelOf(device);
  return providers.flatMap((provider) => {
    const { resourceClass = '' } = provider.deployable;
    const isTaken = typesRefused(provider, attachTypes).length === 0;
    const isOffered = deviceState(device) === 'ok' && isTaken;
    return provider.handles.flatMap((handle) => {
      const use = handleUse(handle, isOffered);
      const project = handle.claim?.facts?.projectId;
      return [
        ...(use ? [toSample('cyborg_handles', [resourceClass, model, use])] : []),
        ...(project ? [toSample('cyborg_project_handles', [project, resourceClass, model])] : []),
      ];
    });
  });
}

function measureProfiles(
  measured: MeasuredHost,
  providers: readonly StoredProvider[],
  { profiles, attachTypes, nowMs }: MeasureContext,
): Sample[] {
  const capacityHost = toCapacityHost(measured, providers, nowMs);
  return profiles.flatMap(({ name, groups }) => {
    const fits = measureCapacity(groups, capacityHost, attachTypes)?.fits ?? 0;
    return fits > 0 ? [toSample('cyborg_capacity_servers', [name], fits)] : [];
  });
}

/** Kinds of incidents that are counted here; the summaries of hosts have others. */
export const roundKinds = [
  'maintenance-overdue',
  'not-offered',
  'offered-twice',
  'firmware-differs',
  'unhealthy-device',
  'device-not-attached',
  'moved-card',
  'awaits-power-cycle',
] as const satisfies readonly IncidentKind[];

function incidents(
  measured: MeasuredHost,
  providers: readonly StoredProvider[],
  { baselines, attachTypes, nowMs }: MeasureContext,
): IncidentKind[] {
  const handlesOf = ({ uuid }: Device) =>
    providers
      .filter(({ deployable }) => deployable.deviceUuid === uuid)
      .flatMap(({ handles }) => handles);
  const { host, devices } = measured;
  const { hostname, drain } = host;
  const all = [
    drain && overdueIncident(hostname, drain, nowMs),
    notOfferedIncident(hostname, allNotOffered(measured, attachTypes)),
    firmwareIncident(hostname, devices, baselines),
    ...devices.flatMap((device) => [
      offeredTwiceIncident(device),
      healthIncident(device, devices),
      attachmentIncident(device, handlesOf(device)),
      movedCardIncident(device, (place) => deviceUuid(place.hostname, place.address)),
      powerCycleIncident(device),
    ]),
  ];
  return all.flatMap((incident) => incident?.kind ?? []);
}
