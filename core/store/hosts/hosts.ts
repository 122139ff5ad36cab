// Hosts: boot, last report, presence, and the lease of the consumer that applies their reports.

import { PutCommand } from '@aws-sdk/lib-dynamodb';
import type { AttachType, Deployable, Device } from '#core/domain/device/device.ts';
import type { NotOffered, Presence, StoredHost } from '#core/domain/host/host.ts';
import type { FailedJobs } from '#core/domain/host/host-pause.ts';
import type { HostSummary } from '#core/domain/host/host-summary.ts';
import type { IdentityConflict } from '#core/domain/host/identity.ts';
import type { WaitingBind } from '#core/domain/host-work/host-work.ts';
import { toWholeWire, toWire } from '#core/shapes/derive/case.ts';
import { present } from '#core/shapes/derive/present.ts';
import {
  failedJobs as failedJobsShape,
  presence as presenceShape,
  reportedHost,
  seenBoot,
  storedHost,
} from '#core/shapes/host.ts';
import { toHost, toLease, toNotOffered } from '#core/store/rows/host-rows.ts';
import { toDevice } from '#core/store/rows/inventory-rows.ts';
import { deployableKey, deviceKey, hostKey, notOfferedKey } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { getRow, queryPartition } from '#core/store/table/reads.ts';
import { replacing, setOrRemove, setting, transact, updateIf } from '#core/store/table/writes.ts';
import { type HostSummaryStore, hostSummaryStore, summaryIn } from './host-summaries.ts';
import { waitingIn } from './waiting-binds.ts';

export interface HostInventory {
  readonly host: StoredHost;
  readonly devices: readonly Device[];
  /** What the host's settings name and the host does not offer. */
  readonly notOffered: readonly NotOffered[];
  /** Binds that AWS has throttled, the longest waiting first. */
  readonly waiting: readonly WaitingBind[];
  /** Undefined until the first report or connection is recorded in it. */
  readonly summary?: HostSummary;
  /** The last holder of the lease. While it is unchanged, no other consumer has had the lease. */
  readonly holder?: string;
  /** When the lease ends, if it was not given back; ISO 8601. */
  readonly leasedUntil?: string;
}

export interface HostStore extends HostSummaryStore {
  /** A host that has never reported is returned with empty fields. */
  host(hostname: string): Promise<HostInventory>;
  /** The host without its devices: a read of one row. */
  hostAlone(hostname: string): Promise<StoredHost & Pick<HostInventory, 'leasedUntil'>>;
  /** Stores what the host does not offer. The caller holds the lease. */
  putNotOffered(hostname: string, notOffered: readonly NotOffered[]): Promise<void>;
  /** False while another consumer has the lease. The lease ends at `until`; ISO 8601. */
  takeLease(hostname: string, holder: string, now: string, until: string): Promise<boolean>;
  endLease(hostname: string, holder: string): Promise<void>;
  /**
   * Stores a new boot before its consequences, and whether the host is reprovisioned.
   * False if the holder has lost the lease.
   */
  putBoot(host: StoredHost, holder: string): Promise<boolean>;
  /**
   * Stores what the host last reported. Written after its devices, so that after a crash the
   * report is applied again. False if another consumer has had the lease since.
   *
   * @param next the name stored as the last holder
   */
  putReport(host: StoredHost, holder: string, next?: string): Promise<boolean>;
  /**
   * Adds to the jobs that the host could not do. Two concurrent failures may count as one: the
   * count only decides how long the host is paused.
   */
  noteFailure(host: StoredHost, failed: FailedJobs): Promise<void>;
  /** The host has done a job: the count of failures starts again. */
  forgetFailures(hostname: string): Promise<void>;
  /** Stores that two agents report as this host. False if the holder has lost the lease. */
  putConflict(host: StoredHost, conflict: IdentityConflict, holder: string): Promise<boolean>;
  /** Stores the boots that report while the conflict lasts. */
  putSighting(hostname: string, conflict: IdentityConflict): Promise<void>;
  /**
   * Ends the conflict that began at `since` and stores the given boot. False if that conflict is
   * over.
   */
  endConflict(host: StoredHost, since: string): Promise<boolean>;
  /**
   * Marks the device and these deployables of it as in conflict, at once; `since` undefined
   * removes the marks. False if one of the rows is no longer there.
   */
  markConflict(
    device: Device,
    deployables: readonly Deployable[],
    since: string | undefined,
  ): Promise<boolean>;
  /**
   * Copies the types that the host's hypervisor takes to the device and these deployables of it,
   * at once; undefined removes the copies. False if one of the rows is no longer there.
   */
  copyAttachTypes(
    device: Device,
    deployables: readonly Deployable[],
    types: readonly AttachType[] | undefined,
  ): Promise<boolean>;
  /** False if the stored presence is not `known`. */
  putPresence(hostname: string, presence: Presence, stored: Presence | undefined): Promise<boolean>;
}

/** What the first report of a boot sets, and what settles a conflict. */
const settledBoot = storedHost.pick({
  boot_id: true,
  booted_at: true,
  epoch: true,
  sequence: true,
  earlier_boots: true,
});
const newBoot = storedHost.pick({
  booted_at: true,
  last_report_at: true,
  wanted: true,
  earlier_boots: true,
});
const conflictMarks = storedHost.pick({ conflict_since: true, conflict_boots: true });

export function hostStore(client: Documents, table: string): HostStore {
  const putUnderLease = (
    { hostname, bootId, epoch, sequence, lastReceivedAtMs }: StoredHost,
    holder: string,
    more: Readonly<Record<string, unknown>>,
  ) => {
    const same = { hostname, boot_id: bootId, epoch, sequence, last_received_ms: lastReceivedAtMs };
    const set = replacing({ ...same, ...more });
    return updateIf(client, {
      TableName: table,
      Key: hostKey(hostname),
      UpdateExpression: set.expression,
      ConditionExpression: 'lease_holder = :holder',
      ExpressionAttributeNames: set.names,
      ExpressionAttributeValues: { ...set.values, ':holder': holder },
    });
  };
  return {
    ...hostSummaryStore(client, table),

    async host(hostname) {
      const rows = await queryPartition(client, table, `HOST#${hostname}`);
      const hostRow = rows.find((row) => row.sk === 'HOST');
      return {
        host: toHost(hostname, hostRow),
        devices: rows.filter((row) => String(row.sk).startsWith('DEVICE#')).map(toDevice),
        notOffered: toNotOffered(rows.find((row) => row.sk === notOfferedKey(hostname).sk)),
        waiting: waitingIn(rows),
        ...summaryIn(rows),
        ...toLease(hostRow),
      };
    },

    async hostAlone(hostname) {
      const row = await getRow(client, table, hostKey(hostname));
      const { leasedUntil } = toLease(row);
      return { ...toHost(hostname, row), ...present({ leasedUntil }) };
    },

    async putNotOffered(hostname, notOffered) {
      await client.send(
        new PutCommand({
          TableName: table,
          Item: { ...notOfferedKey(hostname), not_offered: notOffered },
        }),
      );
    },

    takeLease(hostname, holder, now, until) {
      return updateIf(client, {
        TableName: table,
        Key: hostKey(hostname),
        UpdateExpression: 'SET lease_holder = :holder, lease_until = :until',
        ConditionExpression:
          'attribute_not_exists(lease_until) OR lease_until < :now OR lease_holder = :holder',
        ExpressionAttributeValues: { ':holder': holder, ':now': now, ':until': until },
      });
    },

    async endLease(hostname, holder) {
      await updateIf(client, {
        TableName: table,
        Key: hostKey(hostname),
        // The holder's name stays: putReport() needs it to see whether another consumer came
        // after.
        UpdateExpression: 'REMOVE lease_until',
        ConditionExpression: 'lease_holder = :holder',
        ExpressionAttributeValues: { ':holder': holder },
      });
    },

    putBoot(host, holder) {
      return putUnderLease(host, holder, {
        ...toWire(newBoot, host),
        ...(host.isReprovisioning && { reprovisioning: true }),
        failed_jobs: undefined,
      });
    },

    putReport(host, holder, next = holder) {
      return putUnderLease(host, holder, {
        lease_holder: next,
        ...toWholeWire(reportedHost, host),
        ...(!host.isReprovisioning && { reprovisioning: undefined }),
      });
    },

    async noteFailure({ hostname, failedJobs: earlier }, { count, lastAt, reason }) {
      const failedJobs: FailedJobs = {
        count: (earlier?.count ?? 0) + count,
        lastAt,
        reason: reason.slice(0, 255),
      };
      await updateIf(client, {
        TableName: table,
        Key: hostKey(hostname),
        UpdateExpression: 'SET failed_jobs = :failed',
        ExpressionAttributeValues: { ':failed': toWire(failedJobsShape, failedJobs) },
      });
    },

    async forgetFailures(hostname) {
      await updateIf(client, {
        TableName: table,
        Key: hostKey(hostname),
        UpdateExpression: 'REMOVE failed_jobs',
      });
    },

    putConflict(host, { since, boots }, holder) {
      const marks = { conflictSince: since, conflictBoots: boots };
      return putUnderLease(host, holder, toWire(conflictMarks, marks));
    },

    async putSighting(hostname, { since, boots }) {
      await updateIf(client, {
        TableName: table,
        Key: hostKey(hostname),
        UpdateExpression: 'SET conflict_boots = :boots',
        ConditionExpression: 'conflict_since = :since',
        ExpressionAttributeValues: {
          ':since': since,
          ':boots': boots.map((boot) => toWire(seenBoot, boot)),
        },
      });
    },

    endConflict(host, since) {
      const set = setting({
        ...toWire(settledBoot, host),
        // The host reprovisions what its instances had under another boot.
        reprovisioning: true,
      });
      return updateIf(client, {
        TableName: table,
        Key: hostKey(host.hostname),
        UpdateExpression: `${set.expression} REMOVE conflict_since, conflict_boots`,
        ConditionExpression: 'conflict_since = :since',
        ExpressionAttributeNames: set.names,
        ExpressionAttributeValues: { ...set.values, ':since': since },
      });
    },

    async markConflict({ hostname, uuid }, deployables, since) {
      const mark = setOrRemove(table, 'conflict_since', since);
      const outcome = await transact(client, [
        mark(deviceKey(hostname, uuid)),
        ...deployables.map((each) => mark(deployableKey(each.providerUuid))),
      ]);
      return outcome === 'done';
    },

    async copyAttachTypes({ hostname, uuid }, deployables, types) {
      const copy = (map: string) => setOrRemove(table, `${map}.host_attach_types`, types);
      const outcome = await transact(client, [
        copy('device')(deviceKey(hostname, uuid)),
        ...deployables.map((each) => copy('deployable')(deployableKey(each.providerUuid))),
      ]);
      return outcome === 'done';
    },

    putPresence(hostname, presence, stored) {
      const set = setting({ hostname, presence: toWire(presenceShape, presence) });
      return updateIf(client, {
        TableName: table,
        Key: hostKey(hostname),
        UpdateExpression: set.expression,
        ConditionExpression: stored ? 'presence = :known' : 'attribute_not_exists(presence)',
        ExpressionAttributeNames: set.names,
        ExpressionAttributeValues: {
          ...set.values,
          ...(stored && { ':known': toWire(presenceShape, stored) }),
        },
      });
    },
  };
}
