// Promises of alternatives, a row for each revision of a profile.

import type { DeviceProfile } from '#core/domain/profile/device-profile.ts';
import {
  type Counted,
  countedMs,
  noPromises,
  type Promises,
} from '#core/domain/profile/promises.ts';
import { attributeOf, promisesKey, toPromises } from '#core/store/rows/promise-rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { getRow } from '#core/store/table/reads.ts';
import { setting, updateIf } from '#core/store/table/writes.ts';

type Revision = Pick<DeviceProfile, 'name' | 'revision'>;

/** The alternative that is promised, and all that compete with it for devices. */
export interface Promised {
  readonly index: number;
  /** With itself. */
  readonly competing: readonly number[];
}

export interface PromiseStore {
  of(profile: Revision): Promise<Promises>;
  /** False if there is no room. The caller has read the count. */
  give(profile: Revision, promised: Promised): Promise<boolean>;
  /** False also if the count is out of date. */
  giveUnread(profile: Revision, promised: Promised, nowMs: number): Promise<boolean>;
  /** The promise was given for nothing. */
  takeBack(profile: Revision, promised: Promised): Promise<void>;
  /** The server is bound. Nothing changes where no promise is open. */
  settle(profile: Revision, promised: Promised): Promise<void>;
  /**
   * Stores what Placement has room for. It needs no condition: promises that are given meanwhile
   * count against it, and a count that comes late is out of date at once.
   */
  count(profile: Revision, counted: Counted): Promise<void>;
}

/** Long after the last promise of a row has ended. */
const keptSeconds = 24 * 60 * 60;

const givenOf = (index: number) => attributeOf('given', index);

export function promiseStore(client: Documents, table: string): PromiseStore {
  const adding = (profile: Revision, { index, competing }: Promised) => ({
    TableName: table,
    Key: promisesKey(profile),
    UpdateExpression: `ADD ${[index, ...competing.filter((each) => each !== index)]
      .map((each) => `${givenOf(each)} :one`)
      .join(', ')}`,
    ConditionExpression: `${givenOf(index)} < ${attributeOf('room', index)}`,
    ExpressionAttributeValues: { ':one': 1 },
  });
  return {
    async of(profile) {
      const row = await getRow(client, table, promisesKey(profile));
      return row ? toPromises(row) : noPromises;
    },

    give: (profile, promised) => updateIf(client, adding(profile, promised)),

    giveUnread(profile, promised, nowMs) {
      const update = adding(profile, promised);
      return updateIf(client, {
        ...update,
        ConditionExpression: `counted_at > :stale AND ${update.ConditionExpression}`,
        ExpressionAttributeValues: {
          ...update.ExpressionAttributeValues,
          ':stale': nowMs - countedMs,
        },
      });
    },

    async takeBack(profile, promised) {
      const { ConditionExpression: _, ...update } = adding(profile, promised);
      await updateIf(client, { ...update, ExpressionAttributeValues: { ':one': -1 } });
    },

    async settle(profile, { index, competing }) {
      const closed = (each: number) => attributeOf('closed', each);
      await updateIf(client, {
        TableName: table,
        Key: promisesKey(profile),
        UpdateExpression: `ADD ${[index, ...competing.filter((each) => each !== index)]
          .map((each) => `${closed(each)} :one`)
          .join(', ')}`,
        ConditionExpression: `${closed(index)} < ${givenOf(index)}`,
        ExpressionAttributeValues: { ':one': 1 },
      });
    },

    async count(profile, { countedAt, alternatives, marks }) {
      const numbers = alternatives.flatMap((each, index) =>
        (['free', 'room', 'closed'] as const).map((name): [string, number] => [
          attributeOf(name, index),
          each[name],
        ]),
      );
      const set = setting({
        counted_at: countedAt,
        marks,
        expires_at: Math.ceil(countedAt / 1000) + keptSeconds,
        ...Object.fromEntries(numbers),
      });
      // The condition of a promise compares them, so they must be there, with what they have.
      const present = alternatives.map((_, index) => `${givenOf(index)} :zero`).join(', ');
      await updateIf(client, {
        TableName: table,
        Key: promisesKey(profile),
        UpdateExpression: `${set.expression} ADD ${present}`,
        ExpressionAttributeNames: set.names,
        ExpressionAttributeValues: { ...set.values, ':zero': 0 },
      });
    },
  };
}
