// Digests of devices, by which a host's report is compared with what is stored.

import type { DeviceUuid } from '../domain/ids.ts';
import type { Documents } from './documents.ts';
import { deviceKey } from './rows.ts';
import { updateIf } from './writes.ts';

/** No device has this digest. */
export const unknownDigest = '';

/** Whatever the host reports of the device next is news. */
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
