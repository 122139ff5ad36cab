// Attach handles come, change and go with the reports of their host.

import { PutCommand } from '@aws-sdk/lib-dynamodb';
import type { AttachHandle } from '#core/domain/device/device.ts';
import { isUncleanImport } from '#core/domain/device/handle-state.ts';
import { factsInRow, handleRow } from '#core/store/rows/handle-rows.ts';
import { handleKey } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { deleteIf, held, replacing, updateIf } from '#core/store/table/writes.ts';

export async function addHandle(
  client: Documents,
  table: string,
  handle: AttachHandle,
): Promise<void> {
  await held(client.send(new PutCommand(newHandle(table, handle))));
}

export function newHandle(TableName: string, handle: AttachHandle) {
  const ConditionExpression = 'attribute_not_exists(pk)';
  return { TableName, Item: handleRow(handle), ConditionExpression };
}

export async function reviveHandle(
  client: Documents,
  table: string,
  handle: AttachHandle,
): Promise<void> {
  const revived = await updateIf(client, {
    TableName: table,
    Key: handleKey(handle.providerUuid, handle.uuid),
    UpdateExpression: 'REMOVE is_gone',
    ConditionExpression: 'attribute_exists(pk)',
  });
  if (!revived) await addHandle(client, table, handle);
}

/** Stores how the host prepares and cleans the handle from now on, and what Nova attaches. */
export async function changeHandle(
  client: Documents,
  table: string,
  handle: AttachHandle,
): Promise<void> {
  // Its type is part of its identity.
  const { type: _type, ...facts } = factsInRow(handle);
  const set = replacing(facts);
  await updateIf(client, {
    TableName: table,
    Key: handleKey(handle.providerUuid, handle.uuid),
    UpdateExpression: set.expression,
    ConditionExpression: 'attribute_exists(pk)',
    ExpressionAttributeNames: set.names,
    ExpressionAttributeValues: set.values,
  });
}

/**
 * Marks the handle first, so that no bind claims it; a handle in use is deleted when its claim
 * ends.
 */
export async function dropHandle(
  client: Documents,
  table: string,
  handle: AttachHandle,
): Promise<void> {
  const marked = await updateIf(client, {
    TableName: table,
    Key: handleKey(handle.providerUuid, handle.uuid),
    UpdateExpression: 'SET is_gone = :gone',
    ConditionExpression: 'attribute_exists(pk)',
    ExpressionAttributeValues: { ':gone': true },
  });
  // Only this row says that the device is not clean.
  if (marked && !isUncleanImport(handle)) await deleteGoneHandle(client, table, handle);
}

export async function deleteGoneHandle(client: Documents, table: string, handle: AttachHandle) {
  await deleteIf(client, {
    TableName: table,
    Key: handleKey(handle.providerUuid, handle.uuid),
    ConditionExpression:
      'is_gone = :gone AND attribute_not_exists(arq_uuid) AND attribute_not_exists(release_id)',
    ExpressionAttributeValues: { ':gone': true },
  });
}
