// Promises of alternatives, a row for each revision of a profile.

import type { DeviceProfile } from '#core/domain/profile/device-profile.ts';
import {
  countedMs,
  endedPeriods,
  noPromises,
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
import { setting, updateIf } from '#core/store/table/writes.ts';

type Revision = Pick<DeviceProfile, 'name' | 'revision'>;

export interface PromiseStore {
  of(profile: Revision): Promise<Promises>;
  /** False if there is no room. The caller has read the count, and that it is current. */
  give(profile: Revision, index: number, nowMs: number): Promise<boolean>;
  /** False also if the count is out of date. */
  giveUnread(profile: Revision, index: number, nowMs: number): Promise<boolean>;
  /** The server is bound. */
  settle(profile: Revision, index: number, nowMs: number): Promise<void>;
  /**
   * Stores what Placement has room for. It needs no condition: promises that are given meanwhile
   * count against it, and a count that comes late is out of date at once.
   *
   * @param read after Placement was asked
   * @param askedMs when it was asked
   */
  count(profile: Revision, free: readonly number[], read: Promises, askedMs: number): Promise<void>;
}

/** Long after the last promise of a row has ended. */
const keptSeconds = 24 * 60 * 60;
const expiryAt = (nowMs: number) => Math.ceil(nowMs / 1000) + keptSeconds;

export function promiseStore(client: Documents, table: string): PromiseStore {
  const promise = (profile: Revision, index: number, nowMs: number) => ({
    TableName: table,
    Key: promisesKey(profile),
    UpdateExpression: `ADD ${givenOf(index)} :one, ${openOf(index, periodOf(nowMs))} :one`,
    ConditionExpression: `${givenOf(index)} < ${roomOf(index)}`,
    ExpressionAttributeValues: { ':one': 1 },
  });
  return {
    async of(profile) {
      const row = await getRow(client, table, promisesKey(profile));
      return row ? toPromises(row) : noPromises;
    },

    give: (profile, index, nowMs) => updateIf(client, promise(profile, index, nowMs)),

    giveUnread(profile, index, nowMs) {
      const { ConditionExpression, ExpressionAttributeValues, ...update } = promise(
        profile,
        index,
        nowMs,
      );
      return updateIf(client, {
        ...update,
        ConditionExpression: `counted_at > :stale AND ${ConditionExpression}`,
        ExpressionAttributeValues: { ...ExpressionAttributeValues, ':stale': nowMs - countedMs },
      });
    },

    async settle(profile, index, nowMs) {
      await updateIf(client, {
        TableName: table,
        Key: promisesKey(profile),
        UpdateExpression: `SET expires_at = :expiry ADD ${openOf(index, periodOf(nowMs))} :minus`,
        ExpressionAttributeValues: { ':minus': -1, ':expiry': expiryAt(nowMs) },
      });
    },

    async count(profile, free, { alternatives }, askedMs) {
      const counts = free.map((each, index) => [
        [freeOf(index), each],
        [roomOf(index), roomFor(each, alternatives[index], askedMs)],
      ]);
      const set = setting({
        counted_at: askedMs,
        expires_at: expiryAt(askedMs),
        ...Object.fromEntries(counts.flat()),
      });
      const ended = alternatives.flatMap((each, index) =>
        endedPeriods(each, askedMs).map((period) => openOf(index, period)),
      );
      // The condition of a promise compares them, so they must be there, with what they have.
      const present = free.map((_, index) => `${givenOf(index)} :zero`).join(', ');
      const removal = ended.length > 0 ? ` REMOVE ${ended.join(', ')}` : '';
      await updateIf(client, {
        TableName: table,
        Key: promisesKey(profile),
        UpdateExpression: `${set.expression} ADD ${present}${removal}`,
        ExpressionAttributeNames: set.names,
        ExpressionAttributeValues: { ...set.values, ':zero': 0 },
      });
    },
  };
}
