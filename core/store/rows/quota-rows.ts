// Rows of quotas.

import type { Quota } from '#core/domain/quota/quota.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { quota as shape } from '#core/shapes/quota.ts';
import { fromRow } from './row-fields.ts';
import { quotaKey, type Row } from './rows.ts';
import { duePartition } from './shards.ts';

/** The kind under which the index lists quotas, by their projects. */
export const quotaKind = 'quota';

/** @param recountAt when the sweep recounts it; each recount sets the next */
export function quotaRow(quota: Quota, recountAt: string): Row {
  const { projectId } = quota;
  return {
    ...quotaKey(projectId),
    kind: quotaKind,
    uuid: projectId,
    ...toWire(shape, quota),
    due: duePartition('quota', projectId),
    due_at: recountAt,
  };
}

export function toQuota(row: Row): Quota {
  return { projectId: String(row.uuid), ...fromRow(shape, row) };
}
