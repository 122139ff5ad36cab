// Where the reaper is in its walk over all deployables, and since when an instance uses nothing.

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
  /** @param since ISO 8601; undefined where a host has it after all */
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
      // While there is less than a page, there is nothing to write down.
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
