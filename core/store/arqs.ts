// Accelerator requests, the bindings of instances, and the jobs that several instances share.

import { DeleteCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import type { Arq, InstanceBinding } from '../domain/arq.ts';
import type { JobNote } from '../domain/host-work.ts';
import type { ArqUuid, InstanceUuid } from '../domain/ids.ts';
import { arqOf, arqRow, instanceOf } from './arq-rows.ts';
import type { Documents } from './documents.ts';
import { jobOf, jobRow } from './host-work-rows.ts';
import { getRow, getRows } from './reads.ts';
import { arqKey, instanceKey, jobKey } from './rows.ts';
import { deleteIf, held, transact } from './writes.ts';

export interface ArqStore {
  /** All or none. Until bound, the sweep deletes them after `dueAt`. */
  create(arqs: readonly Arq[], dueAt: string): Promise<void>;
  /** Those that exist. */
  byUuids(uuids: readonly ArqUuid[]): Promise<Map<ArqUuid, Arq>>;
  binding(instanceUuid: string): Promise<InstanceBinding | undefined>;
  /** Those that exist. */
  bindings(instances: readonly InstanceUuid[]): Promise<Map<InstanceUuid, InstanceBinding>>;
  /**
   * Stores for which instances a job works: its end names only the job. False if the job is
   * stored for another boot.
   */
  noteJob(jobUuid: string, note: JobNote): Promise<boolean>;
  jobNote(jobUuid: string): Promise<JobNote | undefined>;
  forgetJob(jobUuid: string): Promise<void>;
  /** False if it is bound. */
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
      // A single row needs no transaction, which costs twice as much. A row that exists already
      // is our own first attempt, whose answer was lost: uuids are random.
      if (puts.length === 1 && only) await held(client.send(new PutCommand(only)));
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

    async bindings(instances) {
      const rows = await getRows(client, table, instances.map(instanceKey));
      return new Map(rows.map(instanceOf).map((binding) => [binding.instanceUuid, binding]));
    },

    noteJob(jobUuid, note) {
      return held(
        client.send(
          new PutCommand({
            TableName: table,
            Item: jobRow(jobUuid, note),
            ConditionExpression: 'attribute_not_exists(pk) OR boot_id = :boot',
            ExpressionAttributeValues: { ':boot': note.bootId },
          }),
        ),
      );
    },

    async jobNote(jobUuid) {
      const row = await getRow(client, table, jobKey(jobUuid));
      return row && jobOf(row);
    },

    async forgetJob(jobUuid) {
      await client.send(new DeleteCommand({ TableName: table, Key: jobKey(jobUuid) }));
    },

    deleteUnbound(uuid) {
      return deleteIf(client, {
        TableName: table,
        Key: arqKey(uuid),
        ConditionExpression: 'attribute_not_exists(bind_id)',
      });
    },
  };
}
