// Hosts: their boot, their last report, the lease of whoever works on their reports, and presence.

import type { Device, FailedJobs, Presence } from '../domain/device.ts';
import type { IdentityConflict } from '../domain/identity.ts';
import type { StoredHost } from '../domain/report-plan.ts';
import type { Documents } from './documents.ts';
import { hostOf, leaseOf } from './host-rows.ts';
import { deviceOf } from './inventory-rows.ts';
import { getRow, queryPartition } from './reads.ts';
import { snakeNamed } from './row-fields.ts';
import { deployableKey, deviceKey, hostKey } from './rows.ts';
import { setting, updateIf } from './writes.ts';

export interface HostInventory {
  readonly host: StoredHost;
  readonly devices: readonly Device[];
  /** Whoever had the lease last: while this is what is stored, nobody else has had it. */
  readonly holder?: string;
  /** When the lease ends, if it was not given back; ISO 8601. */
  readonly leasedUntil?: string;
}

export interface HostStore {
  /** A host that never reported is there too, empty. */
  host(hostname: string): Promise<HostInventory>;
  /** The same without its devices: one row, however many devices the host has. */
  hostAlone(hostname: string): Promise<StoredHost & Pick<HostInventory, 'leasedUntil'>>;
  /** True if nobody else works on the host's reports until `until`; ISO 8601. */
  takeLease(hostname: string, holder: string, now: string, until: string): Promise<boolean>;
  endLease(hostname: string, holder: string): Promise<void>;
  /** Notes a boot before anything follows from it. False if the lease is not the holder's. */
  putBoot(host: StoredHost, holder: string): Promise<boolean>;
  /**
   * What the host last reported. Goes after its devices, so that a crash makes the report count as new.
   * False if the lease is not the holder's, nor was the last.
   *
   * @param next whose the lease was last, from now on
   */
  putReport(host: StoredHost, holder: string, next?: string): Promise<boolean>;
  /**
   * Adds to the jobs that the host could not do. Two at the same time may count as one: the count only
   * says how long the host is left alone.
   */
  noteFailure(host: StoredHost, failed: FailedJobs): Promise<void>;
  /** The host has done a job. */
  forgetFailures(hostname: string): Promise<void>;
  /** Notes that two agents report as this host. False if the lease is not the holder's. */
  putConflict(hostname: string, conflict: IdentityConflict, holder: string): Promise<boolean>;
  /** Notes who has reported while the conflict lasts. */
  putSighting(hostname: string, conflict: IdentityConflict): Promise<void>;
  /** Ends the conflict: the host is as given. False if it is another conflict by now, or none. */
  endConflict(host: StoredHost, since: string): Promise<boolean>;
  /** Marks the device, and all that can be allocated of it, as its host's; undefined: as before. */
  setAside(device: Device, since: string | undefined): Promise<void>;
  /** False if what is stored is no longer `known`. */
  putPresence(hostname: string, presence: Presence, known: Presence | undefined): Promise<boolean>;
}

export function hostStore(client: Documents, table: string): HostStore {
  const putUnderLease = (
    { hostname, bootId, epoch, sequence, lastReceivedAtMs }: StoredHost,
    holder: string,
    more: Readonly<Record<string, unknown>>,
    remove = '',
  ) => {
    const same = { hostname, boot_id: bootId, epoch, sequence, last_received_ms: lastReceivedAtMs };
    const set = setting({ ...same, ...more });
    return updateIf(client, {
      TableName: table,
      Key: hostKey(hostname),
      UpdateExpression: `${set.expression}${remove}`,
      ConditionExpression: 'lease_holder = :holder',
      ExpressionAttributeNames: set.names,
      ExpressionAttributeValues: { ...set.values, ':holder': holder },
    });
  };
  return {
    async host(hostname) {
      const rows = await queryPartition(client, table, `HOST#${hostname}`);
      const hostRow = rows.find((row) => row.sk === 'HOST');
      return {
        host: hostOf(hostname, hostRow),
        devices: rows.filter((row) => String(row.sk).startsWith('DEVICE#')).map(deviceOf),
        ...leaseOf(hostRow),
      };
    },

    async hostAlone(hostname) {
      const row = await getRow(client, table, hostKey(hostname));
      const { leasedUntil } = leaseOf(row);
      return { ...hostOf(hostname, row), ...(leasedUntil && { leasedUntil }) };
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
        // The holder stays: by its name it can be told that nobody has come after it.
        UpdateExpression: 'REMOVE lease_until',
        ConditionExpression: 'lease_holder = :holder',
        ExpressionAttributeValues: { ':holder': holder },
      });
    },

    putBoot(host, holder) {
      const { bootedAt, wanted, earlierBoots, lastReportAt } = host;
      const boot = { booted_at: bootedAt, reprovisioning: true, wanted };
      const more = { earlier_boots: earlierBoots.map(snakeNamed), last_report_at: lastReportAt };
      return putUnderLease(host, holder, { ...boot, ...more }, ' REMOVE failed_jobs');
    },

    putReport(host, holder, next = holder) {
      const more = {
        lease_holder: next,
        agent_version: host.agentVersion,
        last_report_at: host.lastReportAt,
        wanted: host.wanted,
        refused: host.refused,
        pace: host.pace && snakeNamed(host.pace),
      };
      return putUnderLease(
        host,
        holder,
        more,
        host.isReprovisioning ? '' : ' REMOVE reprovisioning',
      );
    },

    async noteFailure({ hostname, failedJobs: known }, { count, lastAt, reason }) {
      const failedJobs: FailedJobs = {
        count: (known?.count ?? 0) + count,
        lastAt,
        reason: reason.slice(0, 255),
      };
      await updateIf(client, {
        TableName: table,
        Key: hostKey(hostname),
        UpdateExpression: 'SET failed_jobs = :failed',
        ExpressionAttributeValues: { ':failed': snakeNamed(failedJobs) },
      });
    },

    async forgetFailures(hostname) {
      await updateIf(client, {
        TableName: table,
        Key: hostKey(hostname),
        UpdateExpression: 'REMOVE failed_jobs',
      });
    },

    putConflict(hostname, { since, boots }, holder) {
      const set = setting({ conflict_since: since, conflict_boots: boots.map(snakeNamed) });
      return updateIf(client, {
        TableName: table,
        Key: hostKey(hostname),
        UpdateExpression: set.expression,
        ConditionExpression: 'lease_holder = :holder',
        ExpressionAttributeNames: set.names,
        ExpressionAttributeValues: { ...set.values, ':holder': holder },
      });
    },

    async putSighting(hostname, { since, boots }) {
      await updateIf(client, {
        TableName: table,
        Key: hostKey(hostname),
        UpdateExpression: 'SET conflict_boots = :boots',
        ConditionExpression: 'conflict_since = :since',
        ExpressionAttributeValues: { ':since': since, ':boots': boots.map(snakeNamed) },
      });
    },

    endConflict({ hostname, bootId, bootedAt, epoch, sequence, earlierBoots }, since) {
      const set = setting({
        boot_id: bootId,
        booted_at: bootedAt,
        epoch,
        sequence,
        earlier_boots: earlierBoots.map(snakeNamed),
        // What was made under another boot is made again under this one.
        reprovisioning: true,
      });
      return updateIf(client, {
        TableName: table,
        Key: hostKey(hostname),
        UpdateExpression: `${set.expression} REMOVE conflict_since, conflict_boots`,
        ConditionExpression: 'conflict_since = :since',
        ExpressionAttributeNames: set.names,
        ExpressionAttributeValues: { ...set.values, ':since': since },
      });
    },

    async setAside({ hostname, uuid, providers }, since) {
      // The device's own row goes last: its change brings Placement up to date.
      const keys = [...providers.map((each) => deployableKey(each)), deviceKey(hostname, uuid)];
      for (const Key of keys) {
        await updateIf(client, {
          TableName: table,
          Key,
          UpdateExpression: since ? 'SET conflict_since = :since' : 'REMOVE conflict_since',
          ConditionExpression: 'attribute_exists(pk)',
          ...(since && { ExpressionAttributeValues: { ':since': since } }),
        });
      }
    },

    putPresence(hostname, presence, known) {
      const set = setting({ hostname, presence: snakeNamed(presence) });
      return updateIf(client, {
        TableName: table,
        Key: hostKey(hostname),
        UpdateExpression: set.expression,
        ConditionExpression: known ? 'presence = :known' : 'attribute_not_exists(presence)',
        ExpressionAttributeNames: set.names,
        ExpressionAttributeValues: { ...set.values, ...(known && { ':known': snakeNamed(known) }) },
      });
    },
  };
}
