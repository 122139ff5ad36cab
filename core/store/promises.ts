// Promises of alternatives, a row for each profile that has any.

import {
  countedMs,
  endedPeriods,
  type Promises,
  periodOf,
  roomFor,
} from '#core/domain/profile/promises.ts';
import {
  freeOf,
  givenOf,
  openOf,
  promisesKey,
  roomOf,
  toPromises,
} from '#core/store/rows/promise-rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { getRow } from '#core/store/table/reads.ts';
import { updateIf } from '#core/store/table/writes.ts';

interface ProfileRevision {
  readonly name: string;
  readonly revision: number;
}

export interface PromiseStore {
  /** Undefined before the first count. */
  ofProfile(name: string): Promise<Promises | undefined>;
  /** False if there is no room, or if the count is out of date or of another revision. */
  give(profile: ProfileRevision, index: number, nowMs: number): Promise<boolean>;
  /** The server is bound. */
  settle(name: string, index: number, nowMs: number): Promise<void>;
  /**
   * Stores what Placement has room for. Promises that are given meanwhile count against it. False
   * if another count came first.
   *
   * @param read before Placement was asked
   */
  count(
    profile: ProfileRevision,
    free: readonly number[],
    read: Promises | undefined,
    nowMs: number,
  ): Promise<boolean>;
}

/** Long after the last promise of a row has ended. */
const keptSeconds = 24 * 60 * 60;

export function promiseStore(client: Documents, table: string): PromiseStore {
  return {
    async ofProfile(name) {
      const row = await getRow(client, table, promisesKey(name));
      return row && toPromises(row);
    },

    give({ name, revision }, index, nowMs) {
      return updateIf(client, {
        TableName: table,
        Key: promisesKey(name),
        UpdateExpression: `ADD ${givenOf(index)} :one, ${openOf(index, periodOf(nowMs))} :one`,
        ConditionExpression: `revision = :revision AND counted_at > :stale AND ${givenOf(index)} < ${roomOf(index)}`,
        ExpressionAttributeValues: {
          ':one': 1,
          ':revision': revision,
          ':stale': nowMs - countedMs,
        },
      });
    },

    async settle(name, index, nowMs) {
      await updateIf(client, {
        TableName: table,
        Key: promisesKey(name),
        UpdateExpression: `ADD ${openOf(index, periodOf(nowMs))} :minus`,
        ConditionExpression: 'attribute_exists(pk)',
        ExpressionAttributeValues: { ':minus': -1 },
      });
    },

    count({ name, revision }, free, read, nowMs) {
      const isSame = read?.revision === revision;
      const names: string[] = [];
      const values: Record<string, number> = {
        ':revision': revision,
        ':now': nowMs,
        ':expires': Math.ceil(nowMs / 1000) + keptSeconds,
        ...(read && { ':read': read.countedAt }),
      };
      const set = (attribute: string, value: number) => {
        names.push(`${attribute} = :${attribute}`);
        values[`:${attribute}`] = value;
      };
      const removed: string[] = [];
      for (const [index, each] of free.entries()) {
        const current = (isSame ? read.alternatives[index] : undefined) ?? {
          given: 0,
          open: new Map<number, number>(),
        };
        set(freeOf(index), each);
        set(roomOf(index), roomFor(each, current, nowMs));
        if (!isSame) set(givenOf(index), 0);
      }
      for (const [index, each] of read?.alternatives.entries() ?? []) {
        const ended = isSame ? endedPeriods(each, nowMs) : [...each.open.keys()];
        removed.push(...ended.map((period) => openOf(index, period)));
        if (index >= free.length) removed.push(freeOf(index), roomOf(index), givenOf(index));
      }
      return updateIf(client, {
        TableName: table,
        Key: promisesKey(name),
        UpdateExpression:
          `SET revision = :revision, counted_at = :now, expires_at = :expires, ${names.join(', ')}` +
          (removed.length > 0 ? ` REMOVE ${removed.join(', ')}` : ''),
        ConditionExpression: read ? 'counted_at = :read' : 'attribute_not_exists(pk)',
        ExpressionAttributeValues: values,
      });
    },
  };
}
