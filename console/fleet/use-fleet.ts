// Data of the map: all hosts, all devices, and which devices are unhealthy or in quarantine.
// The hosts come first, so that the map is there while the devices are still being read.

import { useMemo } from 'preact/hooks';
import type { Host, Incident } from '#console/api/answers.ts';
import { useHosts } from '#console/hosts/hosts.tsx';
import { type LiveList, useList } from '#console/parts/list/live-list.tsx';
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
  const hosts = useHosts();
  const devices = useList<'devices', Dot>('devices', {
    everyMs: devicesEveryMs,
    isWaiting: hosts.isFirst,
    keep: ({ uuid, hostname, status }) => ({ uuid, hostname, status }),
  });
  const timing = { everyMs: incidentsEveryMs, isWaiting: hosts.isFirst };
  const unhealthy = useList('incidents', { ...timing, query: { kind: 'unhealthy-device' } });
  const quarantine = useList('incidents', { ...timing, query: { kind: 'quarantine' } });
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
