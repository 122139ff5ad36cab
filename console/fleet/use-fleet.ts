// What the map shows: all hosts, all devices, and which devices are unhealthy or in quarantine.
// The hosts come first, so that the map is there while the devices are still being read.

import { useMemo } from 'preact/hooks';
import type { Device, Host, Incident } from '#console/api/answers.ts';
import { hostList } from '#console/hosts/hosts.tsx';
import { type LiveList, useLiveList } from '#console/parts/live-list.tsx';
import { type Dot, type FlawedDevices, type FleetMap, fleetMap } from './fleet-map.ts';

/** A hundred thousand devices are a hundred requests. */
const devicesEveryMs = 120_000;
const incidentsEveryMs = 10_000;

export interface Fleet {
  readonly hosts: LiveList<Host>;
  readonly devices: LiveList<Dot>;
  readonly map: FleetMap;
}

export function useFleet(aspect: number): Fleet {
  const hosts = useLiveList<Host>(hostList);
  const devices = useLiveList<Dot, Device>({
    ...{ path: '/v2/devices', collection: 'devices', everyMs: devicesEveryMs },
    isWaiting: hosts.isFirst,
    keep: ({ uuid, hostname, status }) => ({ uuid, hostname, status }),
  });
  const incidents = {
    ...{ path: '/operator/v1/incidents', collection: 'incidents', everyMs: incidentsEveryMs },
    isWaiting: hosts.isFirst,
  };
  const unhealthy = useLiveList<Incident>({ ...incidents, query: { kind: 'unhealthy-device' } });
  const quarantine = useLiveList<Incident>({ ...incidents, query: { kind: 'quarantine' } });
  const flawed = useMemo(
    () => flawedDevices(unhealthy.rows, quarantine.rows),
    [unhealthy.rows, quarantine.rows],
  );
  const map = useMemo(
    () => fleetMap(hosts.rows, devices.rows, flawed, aspect),
    [hosts.rows, devices.rows, flawed, aspect],
  );
  return { hosts, devices, map };
}

function flawedDevices(
  unhealthy: readonly Incident[],
  quarantine: readonly Incident[],
): FlawedDevices {
  const uuids = (incidents: readonly Incident[]) =>
    incidents.flatMap(({ device_uuid }) => device_uuid ?? []);
  return new Map([
    ...uuids(quarantine).map((uuid) => [uuid, 'quarantine'] as const),
    ...uuids(unhealthy).map((uuid) => [uuid, 'unhealthy'] as const),
  ]);
}
