// Digests of devices. A report describes a device only if its digest differs from the stored one.

import type { DeviceUuid } from '#core/domain/ids.ts';
import { deviceKey } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { updateIf } from '#core/store/table/writes.ts';

/** No device has this digest. */
export const unknownDigest = '';

/** Clears the stored digest: the next report describes the device again. */
export async function forgetDigest(
  client: Documents,
  table: string,
  hostname: string,
  device: DeviceUuid,
): Promise<void> {
  await updateIf(client, {
    TableName: table,
    Key: deviceKey(hostname, device),
    UpdateExpression: 'SET device.digest = :unknown',
    ConditionExpression: 'attribute_exists(pk)',
    ExpressionAttributeValues: { ':unknown': unknownDigest },
  });
}
