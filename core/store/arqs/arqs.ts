// Accelerator requests, the bindings of instances, and the jobs that several instances share.

import { DeleteCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import type { Arq, InstanceBinding } from '#core/domain/arq/arq.ts';
import type { JobNote } from '#core/domain/host-work/host-work.ts';
import type { ArqUuid, InstanceUuid } from '#core/domain/ids.ts';
import { arqRow, toArq, toInstance } from '#core/store/rows/arq-rows.ts';
import { jobRow, toJob } from '#core/store/rows/host-work-rows.ts';
import { arqKey, instanceKey, jobKey, type Row } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { getRow, getRows } from '#core/store/table/reads.ts';
import { deleteIf, held, transact } from '#core/store/table/writes.ts';

export interface ArqStore {
  /**
   * All or none. Until bound, the sweep deletes them after `dueAt`. False if one of the uuids was
   * barred; then nothing is stored.
   */
  create(arqs: readonly Arq[], dueAt: string): Promise<boolean>;
  /**
   * Bars the uuid of an ARQ that is not stored, so that a creation that still runs cannot store
   * it. False if it is stored.
   *
   * @param until when no creation of it can run any more; seconds since 1970
   */
  bar(uuid: ArqUuid, until: number): Promise<boolean>;
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
      // A single row needs no transaction, which costs twice as much.
      const isStored =
        puts.length === 1 && only
          ? await held(client.send(new PutCommand(only)))
          : (await transact(
              client,
              puts.map((put) => ({ Put: put })),
            )) === 'done';
      if (isStored) return true;
      // A row that exists already is our own first attempt, whose answer was lost, unless it bars
      // the uuid: uuids are random.
      const rows = await getRows(
        client,
        table,
        arqs.map(({ uuid }) => arqKey(uuid)),
      );
      return !rows.some(isBarred);
    },

    bar(uuid, until) {
      return held(
        client.send(
          new PutCommand({
            TableName: table,
            Item: { ...arqKey(uuid), is_barred: true, expires_at: until },
            ConditionExpression: 'attribute_not_exists(pk)',
          }),
        ),
      );
    },

    async byUuids(uuids) {
      const rows = await getRows(client, table, [...new Set(uuids)].map(arqKey));
      return new Map(
        rows
          .filter((row) => !isBarred(row))
          .map(toArq)
          .map((arq) => [arq.uuid, arq]),
      );
    },

    async binding(instanceUuid) {
      const row = await getRow(client, table, instanceKey(instanceUuid));
      return row && toInstance(row);
    },

    async bindings(instances) {
      const rows = await getRows(client, table, [...new Set(instances)].map(instanceKey));
      return new Map(rows.map(toInstance).map((binding) => [binding.instanceUuid, binding]));
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
      return row && toJob(row);
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

function isBarred(row: Row): boolean {
  return row.is_barred === true;
}
