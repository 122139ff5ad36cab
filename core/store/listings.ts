// Listings read indexes, so they may lag behind the base tables by a moment. They serve users and
// the sweep; Nova's calls read base tables instead.

import { QueryCommand } from '@aws-sdk/lib-dynamodb';
import type { Arq } from '#core/domain/arq/arq.ts';
import { type Deployable, type Device, vendorId } from '#core/domain/device/device.ts';
import type { DeviceProfile } from '#core/domain/profile/device-profile.ts';
import { present } from '#core/shapes/derive/present.ts';
import { type HostListings, hostListings } from './hosts/host-listings.ts';
import { type DevicePlace, drainDue, toDevicePlace } from './inventory/maintenance.ts';
import { type ProfileUses, profileUses } from './profile-uses.ts';
import { toArq } from './rows/arq-rows.ts';
import { toDeployable, toDevice } from './rows/inventory-rows.ts';
import { toProfile } from './rows/profile-rows.ts';
import { deviceKey, type Row } from './rows/rows.ts';
import { type DueKind, shardsFor } from './rows/shards.ts';
import type { Documents } from './table/documents.ts';
import {
  type IndexPage,
  type Page,
  pageByUuid,
  pageOfIndex,
  pageOfKind,
  pageOfRows,
  type RowBudget,
} from './table/index-pages.ts';
import { getRows, queryAll } from './table/reads.ts';

interface DeviceFilter {
  readonly hostname?: string;
  readonly type?: string;
  readonly vendor?: string;
}

export interface DevicePage {
  readonly devices: readonly Device[];
  /** Uuid of the last device that was read, if those beyond it are not: the budget is spent. */
  readonly readTo?: string;
}

export interface Listings extends HostListings, ProfileUses {
  arqs(page: Page, filter: { projectId?: string }): Promise<Arq[]>;
  devices(page: Page, filter: DeviceFilter, budget?: RowBudget): Promise<DevicePage>;
  deployables(page: Page): Promise<Deployable[]>;
  /** In the order of uuids, from beyond the given one, or the beginning of one. */
  deployablesFrom(page: Omit<Page, 'marker'>, beyond?: string): Promise<Deployable[]>;
  /** @param visibleTo a project: without the profiles that are published to others only */
  profiles(page: Page, visibleTo?: string): Promise<DeviceProfile[]>;
  /** In the order of uuids, those after the text. */
  devicesAfter(text: string, limit: number): Promise<Device[]>;
  deviceByUuid(uuid: string): Promise<Device | undefined>;
  deployableByUuid(uuid: string): Promise<Deployable | undefined>;
  /** Devices whose uuid has this prefix; see domain/integer-id.ts. */
  devicesByPrefix(prefix: string): Promise<Device[]>;
  deployablesByPrefix(prefix: string): Promise<Deployable[]>;
  /** Items whose deadline has passed, the longest overdue first; at most {@link overdueMax}. */
  overdue(kind: DueKind, now: string): Promise<Overdue>;
  /** Drained devices whose drain was to end, the longest ago first; at most {@link overdueMax}. */
  overdueDrains(now: string): Promise<DevicePlace[]>;
  /** Unbound ARQs of the project that an earlier release has stored. */
  unboundUuids(projectId: string): Promise<string[]>;
}

interface Overdue {
  readonly uuids: readonly string[];
  /** Errors of shards that did not answer: a throttled one holds up no deadline of the others. */
  readonly faults: readonly unknown[];
}

/** Most uuids of one kind per sweep. */
const overdueMax = 1000;

interface ListingTables {
  readonly arqs: string;
  readonly inventory: string;
  readonly profiles: string;
}

export function listings(client: Documents, tables: ListingTables): Listings {
  const byUuid = async (table: string, kind: string, uuid: string) => {
    const [row] = await queryAll(client, {
      TableName: table,
      IndexName: 'by-kind',
      KeyConditionExpression: 'kind = :kind AND #uuid = :uuid',
      ExpressionAttributeNames: { '#uuid': 'uuid' },
      ExpressionAttributeValues: { ':kind': kind, ':uuid': uuid },
    });
    return row;
  };
  const byPrefix = (kind: string, prefix: string) =>
    queryAll(client, {
      TableName: tables.inventory,
      IndexName: 'by-kind',
      KeyConditionExpression: 'kind = :kind AND begins_with(#uuid, :prefix)',
      ExpressionAttributeNames: { '#uuid': 'uuid' },
      ExpressionAttributeValues: { ':kind': kind, ':prefix': prefix },
    });
  const readPage = (
    table: string,
    kind: string,
    page: Page,
    filter: Record<string, string> = {},
    budget?: RowBudget,
  ) => pageOfKind(client, table, kind, page, filter, (uuid) => byUuid(table, kind, uuid), budget);

  /** From the partition of the host: the index would be read with the devices of all hosts. */
  const devicesOfHost = (hostname: string) => {
    const { pk, sk } = deviceKey(hostname, '');
    return queryAll(client, {
      TableName: tables.inventory,
      KeyConditionExpression: 'pk = :pk AND begins_with(sk, :sk)',
      ExpressionAttributeValues: { ':pk': pk, ':sk': sk },
    });
  };
  /** One project's, or all: then each shard gives as much as the page may need of it. */
  const arqKeys = async (page: Page, projectId: string | undefined): Promise<Row[]> => {
    const partitions: readonly IndexPage['partition'][] =
      projectId === undefined
        ? shardsFor('arq').map((shard) => ['kind', shard])
        : [['project_id', projectId]];
    const index = projectId === undefined ? 'by-kind' : 'by-project';
    const shards = await Promise.all(
      partitions.map((partition) => {
        // ARQ uuids are ordered by creation: one order serves both sort keys.
        const sort = ['uuid', page.marker] as const;
        return pageOfIndex(client, page, {
          table: tables.arqs,
          index,
          partition,
          sort,
          filter: {},
        });
      }),
    );
    const ascending = shards.flat().sort((a, b) => (String(a.uuid) < String(b.uuid) ? -1 : 1));
    return (page.sortDir === 'asc' ? ascending : ascending.reverse()).slice(0, page.limit);
  };
  /** In the order of the keys, without ARQs that belong to another project since. */
  const readArqs = async (keys: readonly Row[], projectId: string | undefined): Promise<Arq[]> => {
    const tableKeys = keys.map((row) => ({ pk: String(row.pk) }));
    const rows = await getRows(client, tables.arqs, tableKeys);
    const byKey = new Map(rows.map((row) => [row.pk, toArq(row)]));
    return keys
      .flatMap((row) => byKey.get(row.pk) ?? [])
      .filter((arq) => projectId === undefined || arq.projectId === projectId);
  };

  return {
    ...hostListings(client, tables.inventory),
    ...profileUses(client, tables.arqs),

    async arqs(page, { projectId }) {
      const arqs: Arq[] = [];
      let marker = page.marker;
      // The index may name deleted ARQs; a page that lacks them is not the end of the list.
      for (;;) {
        const missing = page.limit - arqs.length;
        const keys = await arqKeys({ ...page, limit: missing, ...present({ marker }) }, projectId);
        arqs.push(...(await readArqs(keys, projectId)));
        marker = keys.at(-1)?.uuid as string | undefined;
        if (keys.length < missing || arqs.length === page.limit) return arqs;
      }
    },

    async devices(page, { hostname, type, vendor }, budget) {
      const vendor_id = vendor === undefined ? undefined : vendorId(vendor);
      if (hostname === undefined) {
        const filter = present({ 'device.type': type, vendor_id });
        const read = await readPage(tables.inventory, 'device', page, filter, budget);
        const readTo = read.readTo && String(read.readTo.sk).split('#')[1];
        return { devices: read.rows.map(toDevice), ...present({ readTo }) };
      }
      const rows = (await devicesOfHost(hostname)).filter(
        (row) =>
          (type === undefined || toDevice(row).type === type) &&
          (vendor_id === undefined || row.vendor_id === vendor_id),
      );
      const ofPage = await pageOfRows(rows, page, (uuid) =>
        byUuid(tables.inventory, 'device', uuid),
      );
      return { devices: ofPage.map(toDevice) };
    },

    async deployables(page) {
      return (await readPage(tables.inventory, 'deployable', page)).rows.map(toDeployable);
    },

    async deployablesFrom(page, beyond) {
      const rows = await pageByUuid(client, tables.inventory, 'deployable', beyond, page);
      return rows.map(toDeployable);
    },

    async profiles(page, visibleTo) {
      const filter = present({ projects: visibleTo });
      const { rows } = await readPage(tables.profiles, 'device-profile', page, filter);
      return rows.map(toProfile);
    },

    async devicesAfter(text, limit) {
      const rows = await pageByUuid(client, tables.inventory, 'device', text, { limit });
      return rows.map(toDevice);
    },

    async deviceByUuid(uuid) {
      const row = await byUuid(tables.inventory, 'device', uuid);
      return row && toDevice(row);
    },

    async deployableByUuid(uuid) {
      const row = await byUuid(tables.inventory, 'deployable', uuid);
      return row && toDeployable(row);
    },

    async devicesByPrefix(prefix) {
      return (await byPrefix('device', prefix)).map(toDevice);
    },

    async deployablesByPrefix(prefix) {
      return (await byPrefix('deployable', prefix)).map(toDeployable);
    },

    async overdue(kind, now) {
      const answers = await Promise.allSettled(
        shardsFor(kind).map(async (shard) => {
          const { Items = [] } = await client.send(
            new QueryCommand({
              TableName: tables.arqs,
              IndexName: 'by-due',
              KeyConditionExpression: 'due = :due AND due_at <= :now',
              ExpressionAttributeValues: { ':due': shard, ':now': now },
              Limit: overdueMax,
            }),
          );
          return Items;
        }),
      );
      const dueAt = (row: Row) => String(row.due_at);
      const rows = answers
        .flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
        .sort((a, b) => (dueAt(a) < dueAt(b) ? -1 : 1));
      return {
        // A row's key is its kind and its uuid.
        uuids: rows.slice(0, overdueMax).map((row) => String(row.pk).split('#')[1] ?? ''),
        faults: answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : [])),
      };
    },

    async overdueDrains(now) {
      const { Items = [] } = await client.send(
        new QueryCommand({
          TableName: tables.inventory,
          IndexName: 'by-due',
          KeyConditionExpression: 'due = :due AND due_at <= :now',
          ExpressionAttributeValues: { ':due': drainDue, ':now': now },
          Limit: overdueMax,
        }),
      );
      return Items.map(toDevicePlace);
    },

    async unboundUuids(projectId) {
      const rows = await queryAll(client, {
        TableName: tables.arqs,
        IndexName: 'by-unbound',
        KeyConditionExpression: 'unbound_project = :project',
        ExpressionAttributeValues: { ':project': projectId },
      });
      return rows.map(({ uuid }) => String(uuid));
    },
  };
}
