// Binds whose jobs AWS has throttled, beside the row of their host: the consumer of another bind
// reads them with the host.

import { DeleteCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import type { WaitingBind } from '#core/domain/host-work/host-work.ts';
import type { BindId } from '#core/domain/ids.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { waitingBind } from '#core/shapes/host-work.ts';
import { fromRow } from '#core/store/rows/row-fields.ts';
import { type Row, waitingBindKey } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { setting, updateIf } from '#core/store/table/writes.ts';

/** The bind has ended then. DynamoDB deletes a row that no job of the host has removed. */
const keptSeconds = 3600;

export interface WaitingBindStore {
  /** Stores that the bind waits; whether it is shared stays as it is stored. */
  add(hostname: string, bind: Omit<WaitingBind, 'sharedUntil'>): Promise<void>;
  /** Stores until when a shared job has these binds. No other shared job takes them after. */
  putShared(hostname: string, binds: readonly BindId[], until: string): Promise<void>;
  forget(hostname: string, binds: readonly BindId[]): Promise<void>;
}

/** The waiting binds among the rows beside a host's, the longest waiting first. */
export function waitingIn(rows: readonly Row[]): WaitingBind[] {
  const prefix = waitingBindKey('', '').sk;
  return rows
    .filter(({ sk }) => String(sk).startsWith(prefix))
    .map((row) => fromRow(waitingBind, row))
    .sort((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
}

export function waitingBindStore(client: Documents, table: string): WaitingBindStore {
  return {
    async add(hostname, bind) {
      const expires_at = Math.ceil(Date.parse(bind.startedAt) / 1000) + keptSeconds;
      const set = setting({
        ...toWire(waitingBind.omit({ shared_until: true }), bind),
        expires_at,
      });
      await client.send(
        new UpdateCommand({
          TableName: table,
          Key: waitingBindKey(hostname, bind.bindId),
          UpdateExpression: set.expression,
          ExpressionAttributeNames: set.names,
          ExpressionAttributeValues: set.values,
        }),
      );
    },

    async putShared(hostname, binds, until) {
      const marks = binds.map((bindId) =>
        updateIf(client, {
          TableName: table,
          Key: waitingBindKey(hostname, bindId),
          UpdateExpression: 'SET shared_until = :until',
          // The job may have ended already.
          ConditionExpression: 'attribute_exists(pk)',
          ExpressionAttributeValues: { ':until': until },
        }),
      );
      await Promise.all(marks);
    },

    async forget(hostname, binds) {
      const deletions = binds.map((bindId) =>
        client.send(new DeleteCommand({ TableName: table, Key: waitingBindKey(hostname, bindId) })),
      );
      await Promise.all(deletions);
    },
  };
}
