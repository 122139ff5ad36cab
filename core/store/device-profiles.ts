// Device profiles. A name and a uuid are each taken by a row of their own, so both are unique.

import type { ChangeNote } from '#core/domain/change-note.ts';
import {
  type DeviceProfile,
  isProfileName,
  type ProfileUpdate,
} from '#core/domain/profile/device-profile.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { profileUpdate } from '#core/shapes/device-profile.ts';
import {
  groupsText,
  profileDeletionRow,
  profileNameKey,
  profileRow,
  profileUuidKey,
  toProfile,
} from '#core/store/rows/profile-rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { getRow, getRows } from '#core/store/table/reads.ts';
import { setting, transact, updateIf } from '#core/store/table/writes.ts';

type CreateOutcome =
  | 'created'
  | { readonly taken: 'name' | 'uuid'; readonly profile: DeviceProfile };

export interface DeviceProfileStore {
  byName(name: string): Promise<DeviceProfile | undefined>;
  /** In the order of the names; names that do not exist are left out. */
  byNames(names: readonly string[]): Promise<DeviceProfile[]>;
  byUuid(uuid: string): Promise<DeviceProfile | undefined>;
  /** All or none, at most 50. */
  create(profiles: readonly DeviceProfile[]): Promise<CreateOutcome>;
  /** All or none, at most 49; false if one of them was deleted or recreated since it was read. */
  delete(profiles: readonly DeviceProfile[], change: ChangeNote): Promise<boolean>;
  /** False, and nothing is written, unless the profile still has the groups that were read. */
  replaceGroups(
    profile: DeviceProfile,
    groups: DeviceProfile['groups'],
    update: ProfileUpdate,
  ): Promise<boolean>;
}

export function deviceProfileStore(client: Documents, table: string): DeviceProfileStore {
  const byName = async (name: string) => {
    // An invalid name may be longer than a key of DynamoDB can be.
    if (!isProfileName(name)) return undefined;
    const row = await getRow(client, table, profileNameKey(name));
    return row && toProfile(row);
  };
  return {
    byName,

    async byNames(names) {
      const rows = await getRows(
        client,
        table,
        [...new Set(names)].filter(isProfileName).map(profileNameKey),
      );
      const profiles = new Map(rows.map(toProfile).map((profile) => [profile.name, profile]));
      return [...new Set(names)].flatMap((name) => profiles.get(name) ?? []);
    },

    async byUuid(uuid) {
      const row = await getRow(client, table, profileUuidKey(uuid.toLowerCase()));
      return row && byName(String(row.name));
    },

    async create(profiles) {
      const outcome = await transact(
        client,
        profiles.flatMap((profile) => [
          put(table, profileRow(profile)),
          put(table, { ...profileUuidKey(profile.uuid), name: profile.name }),
        ]),
      );
      if (outcome === 'done') return 'created';
      const index = outcome.refused[0] ?? 0;
      const profile = profiles[Math.floor(index / 2)] as DeviceProfile;
      return { taken: index % 2 === 0 ? 'name' : 'uuid', profile };
    },

    async delete(profiles, change) {
      const names = profiles.map(({ name }) => name);
      const [first] = profiles;
      if (!first) return true;
      const outcome = await transact(client, [
        ...profiles.flatMap(({ name, uuid }) => [
          {
            Delete: {
              TableName: table,
              Key: profileNameKey(name),
              // A new profile may have the name, but not the uuid.
              ConditionExpression: '#uuid = :uuid',
              ExpressionAttributeNames: { '#uuid': 'uuid' },
              ExpressionAttributeValues: { ':uuid': uuid },
            },
          },
          { Delete: { TableName: table, Key: profileUuidKey(uuid) } },
        ]),
        { Put: { TableName: table, Item: profileDeletionRow(first.uuid, { ...change, names }) } },
      ]);
      return outcome === 'done';
    },

    replaceGroups(profile, groups, update) {
      const set = setting({ ...toWire(profileUpdate, update), groups: groupsText(groups) });
      return updateIf(client, {
        TableName: table,
        Key: profileNameKey(profile.name),
        UpdateExpression: set.expression,
        ConditionExpression: '#uuid = :uuid AND #groups = :read',
        ExpressionAttributeNames: { ...set.names, '#uuid': 'uuid' },
        ExpressionAttributeValues: {
          ...set.values,
          ':uuid': profile.uuid,
          ':read': groupsText(profile.groups),
        },
      });
    },
  };
}

function put(table: string, row: Record<string, unknown>) {
  return {
    Put: { TableName: table, Item: row, ConditionExpression: 'attribute_not_exists(pk)' },
  };
}
