// Which projects an operator lets program a device.

import type { ProgramGrant } from '#core/domain/device/device.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { programGrant } from '#core/shapes/device.ts';
import { grantField } from '#core/store/rows/inventory-rows.ts';
import { deviceKey } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { updateIf } from '#core/store/table/writes.ts';
import type { DevicePlace } from './maintenance.ts';

export interface GrantStore {
  /** Replaces the project's grant. False if the device is no longer stored. */
  putGrant(device: DevicePlace, grant: ProgramGrant): Promise<boolean>;
  /** False likewise. */
  deleteGrant(device: DevicePlace, projectId: string): Promise<boolean>;
}

export function grantStore(client: Documents, table: string): GrantStore {
  const change = (device: DevicePlace, projectId: string, grant?: ProgramGrant) =>
    updateIf(client, {
      TableName: table,
      Key: deviceKey(device.hostname, device.uuid),
      UpdateExpression: grant ? 'SET #grant = :grant' : 'REMOVE #grant',
      ConditionExpression: 'attribute_exists(pk)',
      ExpressionAttributeNames: { '#grant': grantField(projectId) },
      ...(grant && { ExpressionAttributeValues: { ':grant': toWire(programGrant, grant) } }),
    });
  return {
    putGrant: (device, grant) => change(device, grant.projectId, grant),
    deleteGrant: (device, projectId) => change(device, projectId),
  };
}
