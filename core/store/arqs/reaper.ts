// How far the reaper has read the list of deployables, since when an instance is unused, and which
// unused instances wait for an operator.

import { DeleteCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import type { InstanceBinding } from '#core/domain/arq/arq.ts';
import type { WaitingInstance } from '#core/domain/arq/reaper.ts';
import { type Shaped, toWire } from '#core/shapes/derive/case.ts';
import { present } from '#core/shapes/derive/present.ts';
import { reaperWaits } from '#core/shapes/host-work.ts';
import { fromRow, parseRow } from '#core/store/rows/row-fields.ts';
import { instanceKey, reaperKey, reaperWaitsKey } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { getRow, getRows } from '#core/store/table/reads.ts';
import { held, updateIf } from '#core/store/table/writes.ts';

interface ReaperState {
  /** The deployable at which the last page ended; undefined at the beginning. */
  readonly after?: string;
  readonly waits?: ReaperWaits;
}

export type ReaperWaits = Shaped<typeof reaperWaits>;

export interface ReaperStore {
  state(): Promise<ReaperState>;
  putCursor(deployableUuid: string | undefined): Promise<void>;
  /** Unused instances that wait for an operator. */
  waiting(): Promise<readonly WaitingInstance[]>;
  /** Replaces what was read; false if another sweep came first. */
  putWaiting(
    instances: readonly WaitingInstance[],
    before: ReaperWaits | undefined,
  ): Promise<boolean>;
  /** @param since ISO 8601; undefined if Nova has the instance on a host */
  noteUnused(binding: InstanceBinding, since: string | undefined): Promise<void>;
}

const storedCursor = z.object({ after: z.string() });
export function reaperStore(client: Documents, table: string): ReaperStore {
  return {
    async state() {
      const rows = await getRows(client, table, [reaperKey(), reaperWaitsKey()]);
      const cursor = rows.find(({ pk }) => pk === reaperKey().pk);
      const waits = rows.find(({ pk }) => pk === reaperWaitsKey().pk);
      return {
        ...(cursor && { after: parseRow(storedCursor, cursor).after }),
        ...(waits && { waits: fromRow(reaperWaits, waits) }),
      };
    },

    async putCursor(after) {
      // If all deployables fit on one page, no cursor is needed.
      if (after !== undefined) {
        await client.send(new PutCommand({ TableName: table, Item: { ...reaperKey(), after } }));
      } else if ((await getRow(client, table, reaperKey())) !== undefined) {
        await client.send(new DeleteCommand({ TableName: table, Key: reaperKey() }));
      }
    },

    async waiting() {
      const row = await getRow(client, table, reaperWaitsKey());
      return row ? fromRow(reaperWaits, row).instances : [];
    },

    putWaiting(instances, before) {
      const condition = before
        ? { ConditionExpression: 'revision = :seen' }
        : { ConditionExpression: 'attribute_not_exists(pk)' };
      const revision = (before?.revision ?? 0) + 1;
      return held(
        client.send(
          new PutCommand({
            TableName: table,
            Item: { ...reaperWaitsKey(), ...toWire(reaperWaits, { instances, revision }) },
            ...condition,
            ...(before && { ExpressionAttributeValues: { ':seen': before.revision } }),
          }),
        ),
      );
    },

    async noteUnused({ instanceUuid, bindId }, since) {
      await updateIf(client, {
        TableName: table,
        Key: instanceKey(instanceUuid),
        UpdateExpression: since ? 'SET unused_since = :since' : 'REMOVE unused_since',
        ConditionExpression: 'bind_id = :bind',
        ExpressionAttributeValues: { ':bind': bindId, ...present({ ':since': since }) },
      });
    },
  };
}
