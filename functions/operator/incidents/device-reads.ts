// Incidents of devices, and those that are one for all devices of a host.

import type { CardPlace } from '#core/domain/device/card-cleaning.ts';
import type { AttachHandle, Device } from '#core/domain/device/device.ts';
import { isUnhealthy } from '#core/domain/device/device-health.ts';
import type { HandleClaim } from '#core/domain/device/handle-claim.ts';
import {
  attachmentIncident,
  firmwareIncident,
  healthIncident,
  movedCardIncident,
  offeredTwiceIncident,
  powerCycleIncident,
  uncleanImportIncident,
  withHolders,
} from '#core/domain/history/device-incidents.ts';
import type { Incident, StoredKind } from '#core/domain/history/incidents.ts';
import type { HostSummary } from '#core/domain/host/host-summary.ts';
import type { DeviceUuid } from '#core/domain/ids.ts';
import { deviceUuid } from '#core/domain/report/device-plan.ts';
import { forEachAtOnce } from '#core/operations/for-each-at-once.ts';
import { hostsAtOnce, type Read } from '#functions/operator/page.ts';
import { devicesAfter, hostsAfter, type IncidentDeps } from './suspects.ts';

export type Entries = readonly Read<Incident>[];

/** Reads incidents of one kind, those after the marker; fewer than `count` at the end. */
export type ReadIncidents = (
  deps: IncidentDeps,
  after: string | undefined,
  count: number,
) => Promise<Entries>;

export const deviceReads = {
  'unhealthy-device': async (deps, after, count) => {
    const devices = await devicesAfter(deps, after, count);
    const hosts = new Map<string, readonly Device[]>();
    const ill = devices.filter(isUnhealthy);
    const hostnames = [...new Set(ill.map(({ hostname }) => hostname))];
    await forEachAtOnce(hostnames, hostsAtOnce, async (hostname) => {
      hosts.set(hostname, (await deps.store.inventory.host(hostname)).devices);
    });
    const handles = await readHandles(deps, ill);
    return devices.map((device) => ({
      marker: device.uuid,
      row: withHolders(
        healthIncident(device, hosts.get(device.hostname)),
        claimsOf(handles.get(device.uuid)),
      ),
    }));
  },
  'offered-twice': async (deps, after, count) => {
    const devices = await devicesAfter(deps, after, count);
    const handles = await readHandles(
      deps,
      devices.filter(({ offeredTwice }) => offeredTwice),
    );
    return devices.map((device) => ({
      marker: device.uuid,
      row: withHolders(offeredTwiceIncident(device), claimsOf(handles.get(device.uuid))),
    }));
  },
  'device-not-attached': async (deps, after, count) => {
    const devices = await devicesAfter(deps, after, count);
    const handles = await readHandles(
      deps,
      devices.filter(({ attachmentFaults }) => attachmentFaults),
    );
    return devices.map((device) => ({
      marker: device.uuid,
      row: attachmentIncident(device, handles.get(device.uuid) ?? []),
    }));
  },
  'moved-card': async (deps, after, count) => {
    const devices = await devicesAfter(deps, after, count);
    const uuidAt = ({ hostname, address }: CardPlace) => deviceUuid(hostname, address);
    return devices.map((device) => ({
      marker: device.uuid,
      row: movedCardIncident(device, uuidAt),
    }));
  },
  'firmware-differs': async (deps, after, count) => {
    const baselines = await deps.store.baselines.baselines();
    if (baselines.length === 0) return [];
    // A baseline that is set marks nothing.
    return readHosts(
      { ...deps, suspects: deps.listings },
      after,
      count,
      async ({ hostname, devices }) => {
        if (devices === 0) return undefined;
        const inventory = await deps.store.inventory.host(hostname);
        return firmwareIncident(hostname, inventory.devices, baselines);
      },
    );
  },
  'awaits-power-cycle': async (deps, after, count) => {
    const devices = await devicesAfter(deps, after, count);
    return devices.map((device) => ({ marker: device.uuid, row: powerCycleIncident(device) }));
  },
} as const satisfies { readonly [Kind in StoredKind]?: ReadIncidents };

/** The handles of each device. */
async function readHandles(
  { store }: IncidentDeps,
  devices: readonly Device[],
): Promise<ReadonlyMap<DeviceUuid, readonly AttachHandle[]>> {
  const handles = new Map<DeviceUuid, readonly AttachHandle[]>();
  await forEachAtOnce(devices, hostsAtOnce, async ({ uuid, providers }) => {
    const stored = await store.inventory.providers(providers);
    handles.set(
      uuid,
      stored.flatMap((each) => each.handles),
    );
  });
  return handles;
}

function claimsOf(handles: readonly AttachHandle[] = []): HandleClaim[] {
  return handles.flatMap(({ claim }) => claim ?? []);
}

/** Reads the handles of imported devices only. */
export async function readImported(
  deps: IncidentDeps,
  after: string | undefined,
  count: number,
): Promise<Entries> {
  const devices = await devicesAfter(deps, after, count);
  const handles = await readHandles(
    deps,
    devices.filter(({ adopted }) => adopted !== undefined),
  );
  return devices.map((device) => {
    const stored = handles.get(device.uuid);
    return { marker: device.uuid, row: stored && uncleanImportIncident(device, stored) };
  });
}

export async function readHosts(
  deps: IncidentDeps,
  after: string | undefined,
  count: number,
  incidentOf: (summary: HostSummary) => Promise<Incident | undefined>,
): Promise<Entries> {
  const summaries = await hostsAfter(deps, after, count);
  const incidents = new Map<string, Incident | undefined>();
  await forEachAtOnce(summaries, hostsAtOnce, async (summary) => {
    incidents.set(summary.hostname, await incidentOf(summary));
  });
  return summaries.map(({ hostname }) => ({ marker: hostname, row: incidents.get(hostname) }));
}
