// Digests of devices. A report describes a device only if its digest differs from the stored one.

import type { DeviceUuid } from '../domain/ids.ts';
import type { Documents } from './documents.ts';
import { deviceKey } from './rows.ts';
import { updateIf } from './writes.ts';

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
