// Marks of hosts and devices that may have an incident, in two partitions beside the rows that
// they name. The rows themselves say whether they have one.

import { PutCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import type { Device } from '#core/domain/device/device.ts';
import type { IncidentMark, MarkRounds } from '#core/domain/history/incident-marks.ts';
import type { HostSummary } from '#core/domain/host/host-summary.ts';
import { toDevice } from '#core/store/rows/inventory-rows.ts';
import { fromRow } from '#core/store/rows/row-fields.ts';
import {
  deviceKey,
  hostSummaryKey,
  incidentMarkKey,
  incidentRoundsKey,
  type Row,
} from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { getRow, getRows, type Key, queryPartition } from '#core/store/table/reads.ts';
import { deleteIf, updateIf } from '#core/store/table/writes.ts';
import { toSummary } from './host-summaries.ts';

/** A mark as it was read: one that is set again has another revision or another time. */
export interface StoredMark extends IncidentMark {
  readonly markedAt: string;
  readonly revision: number;
}

export interface IncidentMarker {
  /** @param at when the change was committed; ISO 8601 */
  mark(mark: IncidentMark, at: string): Promise<void>;
}

export interface IncidentMarkStore extends IncidentMarker {
  /** All of one kind. */
  marks(kind: IncidentMark['kind']): Promise<StoredMark[]>;
  /**
   * Removes a mark that was read before its row was found to be without incidents. False if it
   * has been set again since.
   */
  unmark(mark: StoredMark): Promise<boolean>;
  /** Marked hosts after the given name, in the order of names; fewer than `limit` at the end. */
  markedHosts(after: string | undefined, limit: number): Promise<HostSummary[]>;
  /** Marked devices after the text, in the order of uuids; fewer than `limit` at the end. */
  markedDevices(after: string, limit: number): Promise<Device[]>;
  rounds(): Promise<MarkRounds | undefined>;
  putRounds(rounds: MarkRounds): Promise<void>;
}

const storedMark = z.object({ hostname: z.string(), marked_at: z.string(), revision: z.int() });
const storedRounds = z.object({ since: z.string(), at: z.string() });

export function incidentMarker(client: Documents, table: string): IncidentMarker {
  return {
    async mark({ kind, id, hostname }, at) {
      await updateIf(client, {
        TableName: table,
        Key: incidentMarkKey(kind, id),
        UpdateExpression: 'SET hostname = :hostname, marked_at = :at ADD revision :one',
        ExpressionAttributeValues: { ':hostname': hostname, ':at': at, ':one': 1 },
      });
    },
  };
}

export function incidentMarkStore(client: Documents, table: string): IncidentMarkStore {
  /** Reads on over marks whose rows are deleted, because a shorter list is the end. */
  async function readMarked<Item>(
    kind: IncidentMark['kind'],
    after: string,
    limit: number,
    toKey: (mark: IncidentMark) => Key,
    toItem: (row: Row) => Item,
  ): Promise<Item[]> {
    const items: Item[] = [];
    let sk = incidentMarkKey(kind, after).sk;
    for (;;) {
      const missing = limit - items.length;
      const { Items = [] } = await client.send(
        new QueryCommand({
          TableName: table,
          KeyConditionExpression: 'pk = :pk AND sk > :sk',
          ExpressionAttributeValues: { ':pk': incidentMarkKey(kind, '').pk, ':sk': sk },
          Limit: missing,
          ConsistentRead: true,
        }),
      );
      const marks = Items.map((row) => toMark(kind, row));
      const rows = await getRows(client, table, marks.map(toKey));
      const byKey = new Map(rows.map((row) => [`${row.pk} ${row.sk}`, row]));
      for (const { pk, sk: key } of marks.map(toKey)) {
        const row = byKey.get(`${pk} ${key}`);
        if (row) items.push(toItem(row));
      }
      if (Items.length < missing || items.length === limit) return items;
      sk = String(Items.at(-1)?.sk);
    }
  }

  return {
    ...incidentMarker(client, table),

    async marks(kind) {
      const rows = await queryPartition(client, table, incidentMarkKey(kind, '').pk);
      return rows.map((row) => toMark(kind, row));
    },

    unmark: ({ kind, id, markedAt, revision }) =>
      deleteIf(client, {
        TableName: table,
        Key: incidentMarkKey(kind, id),
        ConditionExpression: 'revision = :revision AND marked_at = :at',
        ExpressionAttributeValues: { ':revision': revision, ':at': markedAt },
      }),

    markedHosts: (after = '', limit) =>
      readMarked('host', after, limit, ({ id }) => hostSummaryKey(id), toSummary),

    markedDevices: (after, limit) =>
      readMarked('device', after, limit, ({ hostname, id }) => deviceKey(hostname, id), toDevice),

    async rounds() {
      const row = await getRow(client, table, incidentRoundsKey());
      return row && fromRow(storedRounds, row);
    },

    async putRounds(rounds) {
      const Item = { ...incidentRoundsKey(), ...rounds };
      await client.send(new PutCommand({ TableName: table, Item }));
    },
  };
}

function toMark(kind: IncidentMark['kind'], row: Row): StoredMark {
  const id = String(row.sk).slice(incidentMarkKey(kind, '').sk.length);
  return { kind, id, ...fromRow(storedMark, row) };
}
