// Incidents of devices, and those that are one for all devices of a host.

import type { CardPlace } from '#core/domain/device/card-cleaning.ts';
import type { Device } from '#core/domain/device/device.ts';
import { isUnhealthy } from '#core/domain/device/device-health.ts';
import type { HandleClaim } from '#core/domain/device/handle-claim.ts';
import {
  attachmentIncident,
  firmwareIncident,
  healthIncident,
  movedCardIncident,
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
    const ill = new Set(devices.filter(isUnhealthy).map(({ hostname }) => hostname));
    await forEachAtOnce([...ill], hostsAtOnce, async (hostname) => {
      hosts.set(hostname, (await deps.store.inventory.host(hostname)).devices);
    });
    const holders = await readHolders(deps, devices.filter(isUnhealthy));
    return devices.map((device) => ({
      marker: device.uuid,
      row: withHolders(
        healthIncident(device, hosts.get(device.hostname)),
        holders.get(device.uuid) ?? [],
      ),
    }));
  },
  'device-not-attached': async (deps, after, count) => {
    const devices = await devicesAfter(deps, after, count);
    const holders = await readHolders(
      deps,
      devices.filter(({ attachmentFaults }) => attachmentFaults),
    );
    return devices.map((device) => ({
      marker: device.uuid,
      row: attachmentIncident(device, holders.get(device.uuid) ?? []),
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

/** The claims of each device's handles. */
async function readHolders(
  { store }: IncidentDeps,
  devices: readonly Device[],
): Promise<ReadonlyMap<DeviceUuid, readonly HandleClaim[]>> {
  const holders = new Map<DeviceUuid, readonly HandleClaim[]>();
  await forEachAtOnce(devices, hostsAtOnce, async ({ uuid, providers }) => {
    const stored = await store.inventory.providers(providers);
    const claims = stored.flatMap(({ handles }) => handles.flatMap(({ claim }) => claim ?? []));
    holders.set(uuid, claims);
  });
  return holders;
}

/** Reads the handles of imported devices only. */
export async function readImported(
  deps: IncidentDeps,
  after: string | undefined,
  count: number,
): Promise<Entries> {
  const devices = await devicesAfter(deps, after, count);
  const incidents = new Map<string, Incident | undefined>();
  const imported = devices.filter(({ adopted }) => adopted !== undefined);
  await forEachAtOnce(imported, hostsAtOnce, async (device) => {
    const providers = await deps.store.inventory.providers(device.providers);
    const handles = providers.flatMap((each) => each.handles);
    incidents.set(device.uuid, uncleanImportIncident(device, handles));
  });
  return devices.map(({ uuid }) => ({ marker: uuid, row: incidents.get(uuid) }));
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
