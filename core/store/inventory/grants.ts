// Which projects an operator lets program a device.

import type { ProgramGrant } from '#core/domain/device/device.ts';
import { grantsMax } from '#core/domain/device/firmware/program-grants.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { programGrant } from '#core/shapes/device.ts';
import { grantField } from '#core/store/rows/inventory-rows.ts';
import { deviceKey } from '#core/store/rows/rows.ts';
import { putMember, removeMember } from '#core/store/table/bounded-set.ts';
import type { Documents } from '#core/store/table/documents.ts';
import type { DevicePlace } from './maintenance.ts';

export interface GrantStore {
  /**
   * Replaces the project's grant, and removes those of others that are over: they take room.
   *
   * @returns `full` if as many others are not over as are allowed, `absent` if the device is no
   *   longer stored
   */
  putGrant(device: DevicePlace, grant: ProgramGrant): Promise<'stored' | 'full' | 'absent'>;
  /** False if the project has none. */
  deleteGrant(device: DevicePlace, projectId: string): Promise<boolean>;
}

export function grantStore(client: Documents, table: string): GrantStore {
  const setOf = ({ hostname, uuid }: DevicePlace) => ({
    table,
    Key: deviceKey(hostname, uuid),
    prefix: grantField(''),
    count: 'grant_count',
    max: grantsMax,
  });
  return {
    putGrant: (device, grant) =>
      putMember(
        client,
        setOf(device),
        grantField(grant.projectId),
        toWire(programGrant, grant),
        // Both are ISO 8601.
        { isOver: (other) => (other as { until: string }).until <= grant.at, isInRow: true },
      ),
    deleteGrant: (device, projectId) => removeMember(client, setOf(device), grantField(projectId)),
  };
}
