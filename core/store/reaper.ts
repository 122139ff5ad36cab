// How far the reaper has read the list of deployables, and since when an instance is unused.

import { DeleteCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import type { InstanceBinding } from '../domain/arq.ts';
import type { Documents } from './documents.ts';
import { getRow } from './reads.ts';
import { parseRow } from './row-fields.ts';
import { instanceKey, reaperKey } from './rows.ts';
import { updateIf } from './writes.ts';

export interface ReaperStore {
  /** The deployable at which the last page ended; undefined at the beginning. */
  cursor(): Promise<string | undefined>;
  putCursor(deployableUuid: string | undefined): Promise<void>;
  /** @param since ISO 8601; undefined if Nova has the instance on a host */
  noteUnused(binding: InstanceBinding, since: string | undefined): Promise<void>;
}

const storedCursor = z.object({ after: z.string() });

export function reaperStore(client: Documents, table: string): ReaperStore {
  return {
    async cursor() {
      const row = await getRow(client, table, reaperKey());
      return row && parseRow(storedCursor, row).after;
    },

    async putCursor(after) {
      // If all deployables fit on one page, no cursor is needed.
      if (after !== undefined) {
        await client.send(new PutCommand({ TableName: table, Item: { ...reaperKey(), after } }));
      } else if ((await getRow(client, table, reaperKey())) !== undefined) {
        await client.send(new DeleteCommand({ TableName: table, Key: reaperKey() }));
      }
    },

    async noteUnused({ instanceUuid, bindId }, since) {
      await updateIf(client, {
        TableName: table,
        Key: instanceKey(instanceUuid),
        UpdateExpression: since ? 'SET unused_since = :since' : 'REMOVE unused_since',
        ConditionExpression: 'bind_id = :bind',
        ExpressionAttributeValues: { ':bind': bindId, ...(since && { ':since': since }) },
      });
    },
  };
}
