// Hosts, each with a device, and records of the history of the last twenty days.

import type { StoredProvider } from '#core/domain/arq/bind-plan.ts';
import type { CapacityHost } from '#core/domain/capacity/capacity.ts';
import { firstName, lastName, type MeasuredRange } from '#core/domain/capacity/measured-hosts.ts';
import type { HistoryRecord } from '#core/domain/history/history.ts';
import { partitionsFor } from '#core/domain/history/history.ts';
import {
  type ArqUuid,
  type DeployableUuid,
  type DeviceUuid,
  derivedUuid,
  type HandleUuid,
  type InstanceUuid,
  type ProviderUuid,
} from '#core/domain/ids.ts';
import type { HostClaims } from '#core/domain/quota/lasting-claims.ts';
import { measuredClaims, measuredHosts } from '#core/store/hosts/measured-hosts.ts';
import { measuredRows } from '#core/store/hosts/measured-store.ts';
import { handleRow } from '#core/store/rows/handle-rows.ts';
import { historyRow } from '#core/store/rows/history-rows.ts';
import { deployableRow, deviceRow } from '#core/store/rows/inventory-rows.ts';
import { hostKey, hostSummaryKey, incidentRoundsKey, type Row } from '#core/store/rows/rows.ts';
import { aDeployable, aStoredDevice, aStoredHandle } from '#test/support/builders.ts';
import type { StoredRow } from './stored-rows.ts';

export const historyDays = 20;
const keptDays = 400;
const dayMs = 86_400_000;
const hourMs = 3_600_000;
const handlesPerHost = 16;
/** What the sweep has measured of a host has this many devices; its rows have one. */
const devicesPerHost = 8;
/** Accelerators in use on each host, as measured. */
const claimsPerHost = 2;

interface CloudSize {
  readonly hosts: number;
  readonly records: number;
}

export function* storedCloud({ hosts, records }: CloudSize): Generator<StoredRow> {
  const nowMs = Date.now();
  // The sweep has marked what has incidents for an hour: nothing.
  yield { table: 'inventory', row: { ...incidentRoundsKey(), ...markRounds(nowMs) } };
  for (let index = 0; index < hosts; index++) {
    for (const row of rowsOfHost(index, nowMs)) yield { table: 'inventory', row };
  }
  for (const range of measuredRanges(hosts, nowMs)) {
    const claims = { ...range, hosts: range.hosts.map(claimsOfHost) };
    const rows = [...measuredRows(measuredHosts, range), ...measuredRows(measuredClaims, claims)];
    for (const row of rows) yield { table: 'inventory', row };
  }
  for (let index = 0; index < records; index++) {
    const ageMs = (historyDays * dayMs * (index + 1)) / (records + 1);
    const record = release(index, nowMs - ageMs);
    const partition = partitionsFor(record).find(({ subject }) => subject === 'day');
    if (partition) yield { table: 'history', row: historyRow(record, partition, keptDays) };
  }
}

function markRounds(nowMs: number) {
  const [since, at] = [2, 0].map((hours) => new Date(nowMs - hours * hourMs).toISOString());
  return { since, at };
}

/** As a round of the sweep has measured them within the last hour. */
function measuredRanges(hosts: number, nowMs: number): MeasuredRange[] {
  const perRun = Math.max(20, Math.ceil(hosts / 60));
  const runs = Math.ceil(hosts / perRun);
  return Array.from({ length: runs }, (_, run) => {
    const first = run * perRun;
    const count = Math.min(perRun, hosts - first);
    return {
      after: run === 0 ? firstName : nameOf(first - 1),
      upTo: run === runs - 1 ? lastName : nameOf(first + count - 1),
      at: new Date(nowMs - (runs - run) * 60_000).toISOString(),
      hosts: Array.from({ length: count }, (_each, index) => measuredHost(first + index)),
    };
  });
}

/** Its devices are of several kinds, of each of which another part is claimed. */
function measuredHost(index: number): CapacityHost {
  const devices = Array.from({ length: devicesPerHost }, (_, device): StoredProvider => {
    // As if at random, so that no two hosts are alike.
    const claimed =
      (Math.imul(index * devicesPerHost + device, 0x9e3779b1) >>> 16) % (handlesPerHost + 1);
    return {
      deployable: aDeployable({ resourceClass: device % 2 ? 'FPGA' : 'VGPU' }),
      handles: Array.from({ length: handlesPerHost }, (_each, handle) =>
        aStoredHandle({
          index: handle,
          ...(handle < claimed && {
            claim: { arqUuid: '' as ArqUuid, instanceUuid: '' as InstanceUuid },
          }),
        }),
      ),
    };
  });
  return { hostname: nameOf(index), providers: devices, isPaused: false };
}

/** Each claim has lasted for some days. */
function claimsOfHost({ hostname }: CapacityHost): HostClaims {
  return {
    hostname,
    claims: Array.from({ length: claimsPerHost }, (_, index) => {
      const key = `${hostname} ${index}`;
      // As if at random.
      const lot = Math.imul(Number(hostname.slice(4)) * claimsPerHost + index, 0x9e3779b1) >>> 0;
      return {
        handleUuid: derivedUuid('bench claim', key),
        since: new Date(Date.now() - (lot % (historyDays * dayMs))).toISOString(),
        projectId: derivedUuid('bench project', String(lot % 100)),
        resourceClass: lot % 2 ? 'FPGA' : 'VGPU',
      };
    }),
  };
}

const nameOf = (index: number) => `host${String(index).padStart(6, '0')}`;

/** Its agent is connected, and its device is healthy and free. */
function rowsOfHost(index: number, nowMs: number): Row[] {
  const hostname = nameOf(index);
  const since = new Date(nowMs - dayMs).toISOString();
  const [uuid, provider] = [
    derivedUuid('bench device', hostname) as DeviceUuid,
    derivedUuid('bench provider', hostname) as ProviderUuid,
  ];
  const boot_id = derivedUuid('bench boot', hostname);
  const agent_version = '0.2.0';
  const connected = { is_connected: true, since };
  return [
    {
      ...hostKey(hostname),
      boot_id,
      agent_version,
      epoch: 0,
      sequence: 1,
      last_received_ms: nowMs,
      presence: { is_connected: true, at: since },
    },
    {
      ...hostSummaryKey(hostname),
      kind: 'host',
      uuid: hostname,
      hostname,
      first_seen: since,
      boot_id,
      agent_version,
      devices: 1,
      not_offered: 0,
      presence: connected,
    },
    deviceRow(aStoredDevice({ uuid, hostname, providers: [provider] })),
    deployableRow(
      aDeployable({
        uuid: derivedUuid('bench deployable', hostname) as DeployableUuid,
        hostname,
        deviceUuid: uuid,
        providerUuid: provider,
        name: `${hostname}_FakeDevice`,
      }),
    ),
    ...Array.from({ length: handlesPerHost }, (_, handle) =>
      handleRow(
        aStoredHandle({
          index: handle,
          providerUuid: provider,
          uuid: derivedUuid('bench handle', `${hostname} ${handle}`) as HandleUuid,
        }),
      ),
    ),
  ];
}

/** An assignment of an hour that ended. */
function release(index: number, atMs: number): HistoryRecord {
  const named = (name: string) => derivedUuid(`bench ${name}`, String(index));
  return {
    id: named('record'),
    at: new Date(atMs).toISOString(),
    kind: 'handle.released',
    from: 'claimed',
    to: 'free',
    since: new Date(atMs - hourMs).toISOString(),
    hostname: `host${String(index % 100).padStart(6, '0')}`,
    resourceClass: 'FPGA',
    handleUuid: named('handle'),
    arqUuid: named('arq'),
    instanceUuid: named('instance'),
    projectId: `project-${index % 10}`,
    profileName: 'bench',
    requestId: `req-${index}`,
  };
}
