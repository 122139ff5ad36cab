// Accelerator requests and, per instance, what is bound for it.

import { DeleteCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import type { Arq, InstanceBinding } from '../domain/arq.ts';
import type { ArqUuid } from '../domain/ids.ts';
import type { Documents } from './documents.ts';
import { getRow, getRows } from './reads.ts';
import { arqKey, arqOf, arqRow, instanceKey, instanceOf, jobKey } from './rows.ts';
import { held, transact } from './writes.ts';

export interface ArqStore {
  /** All or none. Until bound, the sweep deletes them after `dueAt`. */
  create(arqs: readonly Arq[], dueAt: string): Promise<void>;
  /** Those that exist. */
  byUuids(uuids: readonly ArqUuid[]): Promise<Map<ArqUuid, Arq>>;
  binding(instanceUuid: string): Promise<InstanceBinding | undefined>;
  /** Notes for which instances a host works: the end of its job names the job only. */
  noteJob(jobUuid: string, instanceUuids: readonly string[]): Promise<void>;
  instancesOfJob(jobUuid: string): Promise<readonly string[]>;
  forgetJob(jobUuid: string): Promise<void>;
  /** False if it is bound by now, or gone. */
  deleteUnbound(uuid: ArqUuid): Promise<boolean>;
}

export function arqStore(client: Documents, table: string): ArqStore {
  return {
    async create(arqs, dueAt) {
      const puts = arqs.map((arq) => ({
        TableName: table,
        Item: arqRow(arq, dueAt),
        ConditionExpression: 'attribute_not_exists(pk)',
      }));
      const [only] = puts;
      // A single row needs no transaction, which costs twice as much.
      if (puts.length === 1 && only) await client.send(new PutCommand(only));
      else
        await transact(
          client,
          puts.map((put) => ({ Put: put })),
        );
    },

    async byUuids(uuids) {
      const rows = await getRows(client, table, [...new Set(uuids)].map(arqKey));
      return new Map(rows.map(arqOf).map((arq) => [arq.uuid, arq]));
    },

    async binding(instanceUuid) {
      const row = await getRow(client, table, instanceKey(instanceUuid));
      return row && instanceOf(row);
    },

    async noteJob(jobUuid, instanceUuids) {
      const row = { ...jobKey(jobUuid), instance_uuids: instanceUuids };
      await client.send(new PutCommand({ TableName: table, Item: row }));
    },

    async instancesOfJob(jobUuid) {
      const row = await getRow(client, table, jobKey(jobUuid));
      return (row?.instance_uuids as string[] | undefined) ?? [];
    },

    async forgetJob(jobUuid) {
      await client.send(new DeleteCommand({ TableName: table, Key: jobKey(jobUuid) }));
    },

    deleteUnbound(uuid) {
      return held(
        client.send(
          new DeleteCommand({
            TableName: table,
            Key: arqKey(uuid),
            ConditionExpression: 'attribute_exists(pk) AND attribute_not_exists(bind_id)',
          }),
        ),
      );
    },
  };
}
