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
import {
  handleKey,
  instanceKey,
  neverBuiltKey,
  reaperKey,
  reaperWaitsKey,
} from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { getRow, getRows } from '#core/store/table/reads.ts';
import { held, type TransactItem, transact, updateIf } from '#core/store/table/writes.ts';
import type { BindingTables, BoundArq } from './binding-items.ts';

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
  /**
   * Notes that the instance is unused, and has Placement reserve the units of its handles. False
   * if the binding or an ARQ of it has changed.
   *
   * @param wasBuilt whether a host may have had its server
   */
  reserve(
    binding: InstanceBinding,
    arqs: readonly BoundArq[],
    since: string,
    wasBuilt: boolean,
  ): Promise<boolean>;
  /**
   * Has Placement reserve the units of these ARQs until the binding ends: their provider was
   * deleted with its allocations. Nothing where one of the ARQs no longer has its handle.
   */
  reserveLost(binding: InstanceBinding, arqs: readonly BoundArq[]): Promise<void>;
  /** Undoes `reserve`, unless the binding or an ARQ of it has changed. */
  unreserve(binding: InstanceBinding, arqs: readonly BoundArq[]): Promise<void>;
  /**
   * Counts one more release in this minute; false where there were enough. Of several at once, a
   * few more may pass.
   */
  countRelease(nowMs: number, most: number): Promise<boolean>;
}

const storedCursor = z.object({ after: z.string() });
const storedCount = z.object({ minute: z.number(), released: z.number() });

export function reaperStore(client: Documents, tables: BindingTables): ReaperStore {
  const table = tables.arqs;
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

    async reserve({ instanceUuid, bindId }, arqs, since, wasBuilt) {
      const providers = [...new Set(arqs.map(({ binding }) => binding.providerUuid))];
      const outcome = await transact(client, [
        {
          Update: {
            TableName: table,
            Key: instanceKey(instanceUuid),
            UpdateExpression: `SET unused_since = :since, reserved_providers = :providers${
              wasBuilt ? ', was_built = :true' : ' REMOVE was_built'
            }`,
            ConditionExpression: 'bind_id = :bind',
            ExpressionAttributeValues: {
              ':bind': bindId,
              ':since': since,
              ':providers': providers,
              ...(wasBuilt && { ':true': true }),
            },
          },
        },
        ...markHandles(tables, arqs, 'SET is_reserved = :true', { ':true': true }),
      ]);
      return outcome === 'done';
    },

    async reserveLost({ instanceUuid, reservedProviders = [] }, arqs) {
      const lost = arqs.map(({ binding }) => binding.providerUuid);
      const marks = markHandles(tables, arqs, 'SET is_reserved = :true', { ':true': true });
      // The conditions of the handles hold for the row of the instance, too.
      if (marks.length === 0) return;
      await transact(client, [
        {
          Update: {
            TableName: table,
            Key: instanceKey(instanceUuid),
            UpdateExpression: 'SET reserved_providers = :providers, has_lost_allocation = :true',
            ExpressionAttributeValues: {
              ':providers': [...new Set([...reservedProviders, ...lost])],
              ':true': true,
            },
          },
        },
        ...marks,
      ]);
    },

    async unreserve({ instanceUuid, bindId }, arqs) {
      await transact(client, [
        {
          Update: {
            TableName: table,
            Key: instanceKey(instanceUuid),
            UpdateExpression: 'REMOVE unused_since, reserved_providers, was_built',
            ConditionExpression: 'bind_id = :bind',
            ExpressionAttributeValues: { ':bind': bindId },
          },
        },
        ...markHandles(tables, arqs, 'REMOVE is_reserved'),
      ]);
    },

    async countRelease(nowMs, most) {
      const minute = Math.floor(nowMs / 60_000);
      const row = await getRow(client, table, neverBuiltKey());
      const last = row && parseRow(storedCount, row);
      const released = last?.minute === minute ? last.released : 0;
      if (released >= most) return false;
      const Item = { ...neverBuiltKey(), minute, released: released + 1 };
      await client.send(new PutCommand({ TableName: table, Item }));
      return true;
    },
  };
}

/** The handles that the ARQs still hold. */
function markHandles(
  { inventory }: BindingTables,
  arqs: readonly BoundArq[],
  expression: string,
  values: Readonly<Record<string, unknown>> = {},
): TransactItem[] {
  return arqs.flatMap(({ uuid, binding: { providerUuid, attachment } }) => {
    if (!attachment) return [];
    const update = {
      TableName: inventory,
      Key: handleKey(providerUuid, attachment.handleUuid),
      UpdateExpression: expression,
      ConditionExpression: 'arq_uuid = :arq',
      ExpressionAttributeValues: { ...values, ':arq': uuid },
    };
    return [{ Update: update }];
  });
}
