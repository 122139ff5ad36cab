// The mark of a host whose certificates were revoked. It is on the host's row, which is read for
// each report and each work of the host.

import { hostKey } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { getRow } from '#core/store/table/reads.ts';
import { tableName } from '#core/store/table/tables.ts';
import { replacing, updateIf } from '#core/store/table/writes.ts';

/** @param at ISO 8601; undefined ends the mark of a host that is enrolled again */
export async function markRevoked(
  client: Documents,
  stage: string,
  hostname: string,
  at: string | undefined,
): Promise<void> {
  const table = tableName(stage, 'inventory');
  const key = hostKey(hostname);
  const row = await getRow(client, table, key);
  // A host that was never revoked gets no row by its enrolment.
  if (at === undefined && row?.revoked_at === undefined) return;
  const set = replacing({ hostname, revoked_at: at });
  await updateIf(client, {
    TableName: table,
    Key: key,
    UpdateExpression: set.expression,
    ExpressionAttributeNames: set.names,
    ExpressionAttributeValues: set.values,
  });
}
