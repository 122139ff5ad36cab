// Rows of quotas.

import * as z from 'zod';
import type { Quota } from '#core/domain/quota/quota.ts';
import { camelNamed, parseRow, snakeNamed, texts } from './row-fields.ts';
import { quotaKey, type Row } from './rows.ts';
import { duePartition } from './shards.ts';

/** The kind under which the index lists quotas, by their projects. */
export const quotaKind = 'quota';

const numbers = z.record(z.string(), z.number());
const storedQuota = z.object({
  limits: numbers,
  units_left: numbers,
  recent: texts,
  revision: z.number(),
  counted_arqs: z.number(),
  counted_at: z.string(),
  updated_at: z.string(),
});

/** @param recountAt when the sweep recounts it; each recount sets the next */
export function quotaRow({ projectId, ...fields }: Quota, recountAt: string): Row {
  return {
    ...quotaKey(projectId),
    kind: quotaKind,
    uuid: projectId,
    ...snakeNamed(fields),
    due: duePartition('quota', projectId),
    due_at: recountAt,
  };
}

export function quotaOf(row: Row): Quota {
  return { projectId: String(row.uuid), ...camelNamed(parseRow(storedQuota, row)) };
}
