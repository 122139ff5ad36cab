// Holds of devices. One row has all holds, each as an attribute of its own, and how far the sweep
// has come with their marks. Each device has marks of those that match it, and its deployables say
// that it has some, so that a bind reads one partition only.

import * as z from 'zod';
import type { Device, HoldMark } from '#core/domain/device/device.ts';
import { type DeviceHold, deviceHold, holdsMax } from '#core/domain/device/device-holds.ts';
import type { ProviderUuid } from '#core/domain/ids.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { optionalText } from '#core/shapes/derive/fields.ts';
import { holdMark } from '#core/shapes/device.ts';
import { readFields, toDevice } from '#core/store/rows/inventory-rows.ts';
import { fromRow } from '#core/store/rows/row-fields.ts';
import { deployableKey, deviceKey, holdsKey } from '#core/store/rows/rows.ts';
import { putMember, removeMember } from '#core/store/table/bounded-set.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { getRow } from '#core/store/table/reads.ts';
import { transact, updateIf } from '#core/store/table/writes.ts';

const round = z.object({
  /** The revision of the holds when the round began. */
  revision: z.number(),
  /** When it began; ISO 8601. */
  at: z.string(),
  /** The last device that it has marked; absent when it is over. */
  after: optionalText,
});
const storedRound = z.object({ revision: z.number().default(0), round: round.exactOptional() });

/** A round over all devices, which gives each the marks that it must have. */
export type HoldRound = z.output<typeof round>;

export interface StoredHolds {
  /** In no order. */
  readonly holds: readonly DeviceHold[];
  /** Grows with each change of a hold. */
  readonly revision: number;
  readonly round?: HoldRound;
}

export interface HoldStore {
  holds(): Promise<StoredHolds>;
  /** Replaces the hold of the same selector. False if the cloud has as many others as allowed. */
  putHold(hold: DeviceHold): Promise<boolean>;
  /** False if there is none. */
  endHold(id: string): Promise<boolean>;
  /** False if the hold does not end before `now`: another request has replaced it. */
  endOverdueHold(id: string, now: string): Promise<boolean>;
  putRound(round: HoldRound): Promise<void>;
  /** Replaces the marks of the device and of these providers, at once; false if a row is gone. */
  markDevice(
    device: Pick<Device, 'hostname' | 'uuid'>,
    providers: readonly ProviderUuid[],
    marks: readonly HoldMark[],
  ): Promise<boolean>;
  /** From the table. */
  device(hostname: string, uuid: string): Promise<Device | undefined>;
}

/** A row attribute for each hold, so that each is set and ended by itself. */
function holdField(id: string): string {
  return `hold#${id}`;
}

export function holdStore(client: Documents, table: string): HoldStore {
  const Key = holdsKey();
  const set = { table, Key, prefix: holdField(''), count: 'hold_count', max: holdsMax };
  const grows = 'revision';
  return {
    async holds() {
      const row = await getRow(client, table, Key);
      return row
        ? { holds: readFields(row, holdField(''), deviceHold) ?? [], ...fromRow(storedRound, row) }
        : { holds: [], revision: 0 };
    },

    async putHold(hold) {
      const besides = { set: { changed_at: hold.at }, grows };
      const row = toWire(deviceHold, hold);
      return (await putMember(client, set, holdField(hold.id), row, besides)) === 'stored';
    },

    endHold: (id) => removeMember(client, set, holdField(id), { grows }),

    endOverdueHold: (id, now) =>
      removeMember(client, set, holdField(id), {
        grows,
        condition: '#member.#until <= :now',
        names: { '#until': 'until' },
        values: { ':now': now },
      }),

    async putRound({ revision, at, after }) {
      await updateIf(client, {
        TableName: table,
        Key,
        UpdateExpression: 'SET round = :round',
        ExpressionAttributeValues: {
          ':round': { revision, at, ...(after !== undefined && { after }) },
        },
      });
    },

    async markDevice({ hostname, uuid }, providers, marks) {
      const set = (key: Record<string, string>, name: string, value: unknown) => ({
        Update: {
          TableName: table,
          Key: key,
          UpdateExpression: `SET ${name} = :value`,
          ConditionExpression: 'attribute_exists(pk)',
          ExpressionAttributeValues: { ':value': value },
        },
      });
      const rows = marks.map((mark) => toWire(holdMark, mark));
      const outcome = await transact(client, [
        set(deviceKey(hostname, uuid), 'holds', rows),
        ...providers.map((each) => set(deployableKey(each), 'is_on_hold', marks.length > 0)),
      ]);
      return outcome === 'done';
    },

    async device(hostname, uuid) {
      const row = await getRow(client, table, deviceKey(hostname, uuid));
      return row && toDevice(row);
    },
  };
}
