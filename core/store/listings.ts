// Listings read indexes, so they may lag behind the base tables by a moment. Nova's calls never come
// here; what is found is for people and for programs that show things to people.

import type { QueryCommandInput } from '@aws-sdk/lib-dynamodb';
import { QueryCommand } from '@aws-sdk/lib-dynamodb';
import type { Arq } from '../domain/arq.ts';
import type { Deployable, Device } from '../domain/device.ts';
import type { DeviceProfile } from '../domain/device-profile.ts';
import type { Documents } from './documents.ts';
import { profileOf } from './profile-rows.ts';
import { getRows, queryAll } from './reads.ts';
import { arqOf, type DueKind, deployableOf, deviceOf, duePartitions, type Row } from './rows.ts';

export interface Page {
  readonly limit: number;
  /** Uuid of the last row of the page before. */
  readonly marker?: string;
  readonly sortKey: 'created_at' | 'uuid';
  readonly sortDir: 'asc' | 'desc';
}

/** A row of that uuid was never there, or is no longer. */
export class MarkerNotFound extends Error {
  override readonly name = 'MarkerNotFound';
}

export interface DeviceFilter {
  readonly hostname?: string;
  readonly type?: string;
  readonly vendor?: string;
}

export interface Listings {
  arqs(page: Page, filter: { projectId?: string }): Promise<Arq[]>;
  devices(page: Page, filter: DeviceFilter): Promise<Device[]>;
  deployables(page: Page): Promise<Deployable[]>;
  /** By uuid, from beyond the given one, or beginning of one, on. */
  deployablesFrom(page: Omit<Page, 'marker'>, beyond?: string): Promise<Deployable[]>;
  profiles(page: Page): Promise<DeviceProfile[]>;
  /** By uuid, those after the text. */
  devicesAfter(text: string, limit: number): Promise<Device[]>;
  deviceByUuid(uuid: string): Promise<Device | undefined>;
  deployableByUuid(uuid: string): Promise<Deployable | undefined>;
  /** Whose uuid begins so; see domain/integer-id.ts. */
  devicesByPrefix(prefix: string): Promise<Device[]>;
  deployablesByPrefix(prefix: string): Promise<Deployable[]>;
  /** Whether ARQs of that profile are stored. One that was made just now may not show yet. */
  isProfileInUse(name: string): Promise<boolean>;
  /** Uuids of what should have come to its end by now, the longest overdue first; some at a time. */
  overdue(kind: DueKind, now: string): Promise<string[]>;
}

export interface ListingTables {
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
  const pageOf = (table: string, kind: string, page: Page, filter: Record<string, string> = {}) =>
    pageOfKind(client, table, kind, page, filter, (uuid) => byUuid(table, kind, uuid));

  const arqIndex = (marker: string | undefined, projectId: string | undefined): IndexPage => ({
    table: tables.arqs,
    index: projectId === undefined ? 'by-kind' : 'by-project',
    partition: projectId === undefined ? ['kind', 'arq'] : ['project_id', projectId],
    // ARQ uuids are ordered by creation: one order serves both sort keys.
    sort: ['uuid', marker],
    filter: {},
  });
  /** In the keys' order; those that are another project's by now are left out. */
  const arqsOf = async (keys: readonly Row[], projectId: string | undefined): Promise<Arq[]> => {
    const wanted = keys.map((row) => ({ pk: String(row.pk) }));
    const rows = await getRows(client, tables.arqs, wanted);
    const found = new Map(rows.map((row) => [row.pk, arqOf(row)]));
    return keys
      .flatMap((row) => found.get(row.pk) ?? [])
      .filter((arq) => projectId === undefined || arq.projectId === projectId);
  };

  return {
    async arqs(page, { projectId }) {
      const found: Arq[] = [];
      let marker = page.marker;
      // What the index names may be gone by now, and must not be taken for the end of the list.
      for (;;) {
        const wanted = page.limit - found.length;
        const keys = await pageOfIndex(
          client,
          { ...page, limit: wanted },
          arqIndex(marker, projectId),
        );
        found.push(...(await arqsOf(keys, projectId)));
        marker = keys.at(-1)?.uuid as string | undefined;
        if (keys.length < wanted || found.length === page.limit) return found;
      }
    },

    async devices(page, { hostname, type, vendor }) {
      const filter = {
        ...(hostname !== undefined && { 'device.hostname': hostname }),
        ...(type !== undefined && { 'device.type': type }),
        ...(vendor !== undefined && { 'device.vendor': vendor }),
      };
      return (await pageOf(tables.inventory, 'device', page, filter)).map(deviceOf);
    },

    async deployables(page) {
      return (await pageOf(tables.inventory, 'deployable', page)).map(deployableOf);
    },

    async deployablesFrom(page, beyond) {
      const rows = await pageOfIndex(client, page, {
        table: tables.inventory,
        index: 'by-kind',
        partition: ['kind', 'deployable'],
        sort: ['uuid', beyond],
        filter: {},
      });
      return rows.map(deployableOf);
    },

    async profiles(page) {
      return (await pageOf(tables.profiles, 'device-profile', page)).map(profileOf);
    },

    async devicesAfter(text, limit) {
      const page = { limit, sortKey: 'uuid', sortDir: 'asc' } as const;
      const rows = await pageOfIndex(client, page, {
        table: tables.inventory,
        index: 'by-kind',
        partition: ['kind', 'device'],
        sort: ['uuid', text],
        filter: {},
      });
      return rows.map(deviceOf);
    },

    async deviceByUuid(uuid) {
      const row = await byUuid(tables.inventory, 'device', uuid);
      return row && deviceOf(row);
    },

    async deployableByUuid(uuid) {
      const row = await byUuid(tables.inventory, 'deployable', uuid);
      return row && deployableOf(row);
    },

    async devicesByPrefix(prefix) {
      return (await byPrefix('device', prefix)).map(deviceOf);
    },

    async deployablesByPrefix(prefix) {
      return (await byPrefix('deployable', prefix)).map(deployableOf);
    },

    async isProfileInUse(name) {
      const { Items = [] } = await client.send(
        new QueryCommand({
          TableName: tables.arqs,
          IndexName: 'by-profile',
          KeyConditionExpression: 'profile_name = :name',
          ExpressionAttributeValues: { ':name': name },
          Limit: 1,
        }),
      );
      return Items.length > 0;
    },

    async overdue(kind, now) {
      const { Items = [] } = await client.send(
        new QueryCommand({
          TableName: tables.arqs,
          IndexName: 'by-due',
          KeyConditionExpression: 'due = :due AND due_at <= :now',
          ExpressionAttributeValues: { ':due': duePartitions[kind], ':now': now },
          Limit: 1000,
        }),
      );
      // A row's key is its kind and its uuid.
      return Items.map((row) => String(row.pk).split('#')[1] ?? '');
    },
  };
}

interface IndexPage {
  readonly table: string;
  readonly index: string;
  readonly partition: readonly [attribute: string, value: string];
  /** Sort attribute, and the value after which the page begins. */
  readonly sort: readonly [attribute: string, after: string | undefined];
  /** Path → value, all of which must be equal. */
  readonly filter: Readonly<Record<string, string>>;
}

async function pageOfKind(
  client: Documents,
  table: string,
  kind: string,
  page: Page,
  filter: Readonly<Record<string, string>>,
  byUuid: (uuid: string) => Promise<Row | undefined>,
): Promise<Row[]> {
  const sortAttribute = page.sortKey === 'uuid' ? 'uuid' : 'created_key';
  const marker = page.marker === undefined ? undefined : await byUuid(page.marker);
  if (page.marker !== undefined && !marker) throw new MarkerNotFound(page.marker);
  return pageOfIndex(client, page, {
    table,
    index: page.sortKey === 'uuid' ? 'by-kind' : 'by-created',
    partition: ['kind', kind],
    sort: [sortAttribute, marker && String(marker[sortAttribute])],
    filter,
  });
}

/** Reads on until the page is full: a filter drops rows only after DynamoDB has read them. */
async function pageOfIndex(client: Documents, page: Page, at: IndexPage): Promise<Row[]> {
  const rows: Row[] = [];
  let from: Row | undefined;
  do {
    const answer = await client.send(
      new QueryCommand({ ...indexQuery(page, at), ...(from && { ExclusiveStartKey: from }) }),
    );
    rows.push(...(answer.Items ?? []));
    from = answer.LastEvaluatedKey;
  } while (from && rows.length < page.limit);
  return rows.slice(0, page.limit);
}

function indexQuery(
  page: Page,
  { table, index, partition, sort, filter }: IndexPage,
): QueryCommandInput {
  const names: Record<string, string> = { '#partition': partition[0] };
  const values: Record<string, string> = { ':partition': partition[1] };
  const [sortAttribute, after] = sort;
  if (after !== undefined) {
    names['#sort'] = sortAttribute;
    values[':after'] = after;
  }
  const filters = Object.entries(filter).map(([path, value], index) => {
    values[`:f${index}`] = value;
    const parts = path.split('.').map((part) => {
      names[`#${part}`] = part;
      return `#${part}`;
    });
    return `${parts.join('.')} = :f${index}`;
  });
  const beyond = page.sortDir === 'asc' ? '>' : '<';
  return {
    TableName: table,
    IndexName: index,
    KeyConditionExpression:
      after === undefined
        ? '#partition = :partition'
        : `#partition = :partition AND #sort ${beyond} :after`,
    ...(filters.length > 0 && { FilterExpression: filters.join(' AND ') }),
    ExpressionAttributeNames: names,
    ExpressionAttributeValues: values,
    ScanIndexForward: page.sortDir === 'asc',
    Limit: page.limit,
  };
}
