// Data of the map: all hosts, all devices, and which devices are unhealthy or in quarantine.
// The hosts come first, so that the map is there while the devices are still being read.

import { useMemo } from 'preact/hooks';
import type { Aggregate, Host, Incident } from '#console/api/answers.ts';
import { useHosts } from '#console/hosts/hosts.tsx';
import { type LiveList, useList } from '#console/parts/list/live-list.tsx';
import { type Live, useLive } from '#console/parts/use-live.ts';
import { type Dot, type FlawedDevices, type FleetMap, fleetMap } from './fleet-map.ts';
import { type Grouping, groupHosts, groupingsOf } from './groups.ts';

/** A hundred thousand devices are a hundred requests. */
const devicesEveryMs = 120_000;
const incidentsEveryMs = 10_000;

/** They change by hand, and the API keeps them as long. */
const aggregatesEveryMs = 300_000;

export interface Fleet {
  readonly hosts: LiveList<Host>;
  readonly devices: LiveList<Dot>;
  readonly map: FleetMap;
  /** How the map is grouped, and how it may be. */
  readonly by: Grouping;
  readonly groupings: readonly Grouping[];
}

/** @param chosen by the user; without it by what Nova has */
export function useFleet(aspect: number, chosen: Grouping | undefined): Fleet {
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
  const aggregates = useAggregates().data ?? none;
  const groupings = useMemo(() => groupingsOf(aggregates), [aggregates]);
  const by = groupings.find((each) => each === chosen) ?? groupings[0] ?? 'none';
  const groups = useMemo(
    () => groupHosts(hosts.rows, aggregates, by),
    [hosts.rows, aggregates, by],
  );
  const map = useMemo(
    () => fleetMap(groups, devices.rows, flawed, aspect),
    [groups, devices.rows, flawed, aspect],
  );
  return { hosts, devices, map, by, groupings };
}

const none: readonly Aggregate[] = [];

/** A map without groups needs no word where Nova does not show them to the user. */
function useAggregates(): Live<readonly Aggregate[]> {
  // Beside the hosts, so that the map is seldom drawn without groups first.
  return useLive('aggregates', { everyMs: aggregatesEveryMs }, async ({ session, signal }) => {
    const path = '/operator/v1/aggregates';
    const answer = await session.api.ask<{ aggregates: Aggregate[] }>('GET', path, { signal });
    return answer.aggregates;
  });
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
