// The history's table: written by one consumer of the streams and, for calls, by the API; records
// are never changed.

import { PutCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { type HandlePlace, toHandlePlace } from '#core/domain/device/handle-claim.ts';
import type { HistoryPartition, HistoryRecord } from '#core/domain/history/history.ts';
import { present } from '#core/shapes/derive/present.ts';
import { historyRow, ownAttribute, partitionKey, toRecord } from '#core/store/rows/history-rows.ts';
import { toDeployable } from '#core/store/rows/inventory-rows.ts';
import { deployableKey, type Row } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { getRow } from '#core/store/table/reads.ts';
import { held } from '#core/store/table/writes.ts';

export interface HistoryWriter {
  /** Adds the record to the partition; a record that is there already stays as it is. */
  add(record: HistoryRecord, partition: HistoryPartition): Promise<void>;
  /** The place of a provider's handles; undefined if its row is deleted. */
  handlePlace(providerUuid: string): Promise<HandlePlace | undefined>;
}

export interface HistoryReader {
  /**
   * Records of one partition, in the order of time. Reads some pages at most: where few records
   * match, a page may be short, or empty, although more follow.
   */
  read(partition: HistoryPartition, page: HistoryPage): Promise<HistoryRead>;
}

export interface HistoryPage {
  readonly limit: number;
  readonly order: 'oldest-first' | 'newest-first';
  /** ISO 8601; a record at `from` is part of it, one at `to` is not. */
  readonly from?: string;
  readonly to?: string;
  /** `<time>#<id>` of the record before the page. */
  readonly after?: string;
  /** Attribute → value, all of which must be equal. */
  readonly filter: Readonly<Record<string, string>>;
}

export interface HistoryPart {
  readonly records: readonly HistoryRecord[];
  /** Where the next page begins, as in {@link HistoryPage.after}; undefined at the end. */
  readonly next?: string;
}

interface HistoryRead extends HistoryPart {
  /** Pages of a megabyte that were read, with the records that the filter drops. */
  readonly pages: number;
}

/** Pages of a megabyte each: an answer takes a second or two at most. */
const pagesMax = 10;

export function historyWriter(
  client: Documents,
  { history: table, inventory }: { readonly history: string; readonly inventory: string },
  days: number,
): HistoryWriter {
  return {
    async handlePlace(providerUuid) {
      const row = await getRow(client, inventory, deployableKey(providerUuid));
      return row && toHandlePlace(toDeployable(row));
    },

    async add(record, partition) {
      const put = new PutCommand({
        TableName: table,
        Item: historyRow(record, partition, days),
        ConditionExpression: 'attribute_not_exists(pk)',
      });
      await held(client.send(put));
    },
  };
}

export function historyReader(client: Documents, table: string): HistoryReader {
  return {
    async read(partition, page) {
      const { low, high } = keyRange(page);
      // DynamoDB refuses an empty range.
      if (low > high) return { records: [], pages: 0 };
      const records: HistoryRecord[] = [];
      let from: Row | undefined;
      for (let pages = 1; ; pages++) {
        const answer = await client.send(
          new QueryCommand({
            TableName: table,
            ...toQuery(partition, page),
            ...present({ ExclusiveStartKey: from }),
          }),
        );
        records.push(...(answer.Items ?? []).map((row) => toRecord(row, partition)));
        from = answer.LastEvaluatedKey;
        const { limit } = page;
        if (records.length >= limit && (from || records.length > limit)) {
          const last = records[limit - 1] as HistoryRecord;
          return { records: records.slice(0, limit), pages, next: `${last.at}#${last.id}` };
        }
        if (!from) return { records, pages };
        if (pages === pagesMax) return { records, pages, next: String(from.sk) };
      }
    },
  };
}

function toQuery(partition: HistoryPartition, page: HistoryPage) {
  const { limit, order } = page;
  const { low, high } = keyRange(page);
  const filter = filterWithin(partition, page);
  const names = Object.fromEntries(Object.keys(filter).map((name) => [`#${name}`, name]));
  const values = Object.fromEntries(
    Object.entries(filter).map(([name, value]) => [`:${name}`, value]),
  );
  return {
    KeyConditionExpression: 'pk = :pk AND sk BETWEEN :low AND :high',
    ...(Object.keys(filter).length > 0 && {
      FilterExpression: Object.keys(filter)
        .map((name) => `#${name} = :${name}`)
        .join(' AND '),
      ExpressionAttributeNames: names,
    }),
    ExpressionAttributeValues: {
      ':pk': partitionKey(partition),
      ':low': low,
      ':high': high,
      ...values,
    },
    ScanIndexForward: order === 'oldest-first',
    // A filter drops records only after they were read.
    ...(Object.keys(filter).length === 0 && { Limit: limit + 1 }),
  };
}

/** Without the attribute that all records of the partition share, and none of them stores. */
function filterWithin(partition: HistoryPartition, { filter }: HistoryPage) {
  const shared = ownAttribute(partition);
  return Object.fromEntries(
    Object.entries(filter).filter(([name, value]) => name !== shared || value !== partition.key),
  );
}

/** The range of time, without what a marker says was read; it may be outside of the range. */
function keyRange({ order, from = '0', to = last, after }: HistoryPage) {
  if (after === undefined) return { low: from, high: to };
  const [low, high] = order === 'oldest-first' ? [`${after}${last}`, to] : [from, keyBefore(after)];
  return { low: low > from ? low : from, high: high < to ? high : to };
}

/** Both bounds of a range belong to a BETWEEN. This sorts after each character of a key. */
const last = '~';

/** A bound below the key, and above each smaller one. */
function keyBefore(key: string): string {
  return key.slice(0, -1) + String.fromCharCode(key.charCodeAt(key.length - 1) - 1) + last;
}
