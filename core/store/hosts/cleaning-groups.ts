// Attempts to clean handles in quarantine, by the failure domain of their hosts.

import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { type CleaningGroup, newGroup } from '#core/domain/host-work/cleaning-groups.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { cleaningGroup } from '#core/shapes/host-work.ts';
import { fromRow } from '#core/store/rows/row-fields.ts';
import { cleaningGroupKey } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { getRow, queryPartition } from '#core/store/table/reads.ts';
import { held } from '#core/store/table/writes.ts';

/**
 * Longer than a place or a failure counts; then DynamoDB deletes the row. A host that names other
 * failure domains again and again leaves few rows.
 */
const keptSeconds = 3 * 60 * 60;

export interface CleaningGroupStore {
  /** A new one, with revision 0, where none is stored. */
  group(failureDomain: string): Promise<CleaningGroup>;
  /** All that are stored, in the order of their failure domains. */
  groups(): Promise<CleaningGroup[]>;
  /** Stores the group. False if it has changed since it was read. */
  put(group: CleaningGroup, nowMs: number): Promise<boolean>;
}

export function cleaningGroupStore(client: Documents, table: string): CleaningGroupStore {
  return {
    async group(failureDomain) {
      const row = await getRow(client, table, cleaningGroupKey(failureDomain));
      return row ? fromRow(cleaningGroup, row) : newGroup(failureDomain);
    },

    async groups() {
      const rows = await queryPartition(client, table, cleaningGroupKey('').pk);
      return rows.map((row) => fromRow(cleaningGroup, row));
    },

    put(group, nowMs) {
      const { failureDomain, revision } = group;
      const next = toWire(cleaningGroup, { ...group, revision: revision + 1 });
      const Item = {
        ...cleaningGroupKey(failureDomain),
        ...next,
        expires_at: Math.ceil(nowMs / 1000) + keptSeconds,
      };
      return held(
        client.send(
          new PutCommand({
            TableName: table,
            Item,
            ConditionExpression:
              revision === 0 ? 'attribute_not_exists(pk)' : 'revision = :revision',
            ...(revision > 0 && { ExpressionAttributeValues: { ':revision': revision } }),
          }),
        ),
      );
    },
  };
}
