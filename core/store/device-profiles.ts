// Device profiles. A name and a uuid are each taken by a row of their own, so both are unique. A
// name that a profile had before stays taken, and leads to it.

import { PutCommand } from '@aws-sdk/lib-dynamodb';
import type { ChangeNote } from '#core/domain/change-note.ts';
import { type DeviceProfile, isProfileName } from '#core/domain/profile/device-profile.ts';
import {
  formerNameRow,
  isFormerName,
  profileDeletionRow,
  profileNameKey,
  profileRow,
  profileUuidKey,
  toProfile,
} from '#core/store/rows/profile-rows.ts';
import type { Row } from '#core/store/rows/rows.ts';
import type { Documents } from '#core/store/table/documents.ts';
import { getRow, getRows } from '#core/store/table/reads.ts';
import { held, transact } from '#core/store/table/writes.ts';

type CreateOutcome =
  | 'created'
  | { readonly taken: 'name' | 'uuid'; readonly profile: DeviceProfile };

export interface DeviceProfileStore {
  /** Also by a name that the profile had before. */
  byName(name: string): Promise<DeviceProfile | undefined>;
  /** In the order of the names; names that do not exist are left out. */
  byNames(names: readonly string[]): Promise<DeviceProfile[]>;
  byUuid(uuid: string): Promise<DeviceProfile | undefined>;
  /** All or none, at most 50. */
  create(profiles: readonly DeviceProfile[]): Promise<CreateOutcome>;
  /** All or none; false if one of them was changed or deleted since it was read. */
  delete(profiles: readonly DeviceProfile[], change: ChangeNote): Promise<boolean>;
  /**
   * Writes the next revision. `changed`, and nothing is written, unless the profile still has the
   * revision that was read; `name-taken` if another profile has the new name, or had it.
   */
  update(read: DeviceProfile, next: DeviceProfile): Promise<'updated' | 'changed' | 'name-taken'>;
}

/** Its rows: of the profile, its uuid and its former names. */
export function profileRowCount({ formerNames = [] }: DeviceProfile): number {
  return 2 + formerNames.length;
}

export function deviceProfileStore(client: Documents, table: string): DeviceProfileStore {
  /** A rename between the two reads leaves a former name, so the second attempt finds it. */
  const byUuid = async (uuid: string) => {
    const row = await getRow(client, table, profileUuidKey(uuid.toLowerCase()));
    const named = row && (await getRow(client, table, profileNameKey(String(row.name))));
    if (!named || !isFormerName(named)) return named && toProfile(named);
    const later = await getRow(client, table, profileUuidKey(uuid.toLowerCase()));
    const renamed = later && (await getRow(client, table, profileNameKey(String(later.name))));
    return renamed && !isFormerName(renamed) ? toProfile(renamed) : undefined;
  };
  const follow = (row: Row | undefined) =>
    row && (isFormerName(row) ? byUuid(String(row.former_name_of)) : toProfile(row));
  return {
    byUuid,

    async byName(name) {
      // An invalid name may be longer than a key of DynamoDB can be.
      if (!isProfileName(name)) return undefined;
      return follow(await getRow(client, table, profileNameKey(name)));
    },

    async byNames(names) {
      const keys = [...new Set(names)].filter(isProfileName).map(profileNameKey);
      const rows = await getRows(client, table, keys);
      const byKey = new Map(rows.map((row) => [row.pk, row]));
      const profiles = await Promise.all(keys.map(({ pk }) => follow(byKey.get(pk))));
      const stored = profiles.filter((profile) => profile !== undefined);
      return [...new Map(stored.map((profile) => [profile.uuid, profile])).values()];
    },

    async create(profiles) {
      const outcome = await transact(
        client,
        profiles.flatMap((profile) => [
          putNew(table, profileRow(profile)),
          putNew(table, { ...profileUuidKey(profile.uuid), name: profile.name }),
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
        ...profiles.flatMap((profile) => [
          { Delete: { TableName: table, Key: profileNameKey(profile.name), ...asRead(profile) } },
          { Delete: { TableName: table, Key: profileUuidKey(profile.uuid) } },
          ...(profile.formerNames ?? []).map((name) => ({
            Delete: { TableName: table, Key: profileNameKey(name) },
          })),
        ]),
        { Put: { TableName: table, Item: profileDeletionRow(first.uuid, { ...change, names }) } },
      ]);
      return outcome === 'done';
    },

    async update(read, next) {
      const Item = profileRow(next);
      if (read.name === next.name) {
        const put = new PutCommand({ TableName: table, Item, ...asRead(read) });
        return (await held(client.send(put))) ? 'updated' : 'changed';
      }
      const uuidRow = { ...profileUuidKey(next.uuid), name: next.name };
      const outcome = await transact(client, [
        {
          Put: {
            TableName: table,
            Item,
            // A profile may take back a name that it had.
            ConditionExpression: 'attribute_not_exists(pk) OR former_name_of = :uuid',
            ExpressionAttributeValues: { ':uuid': next.uuid },
          },
        },
        { Put: { TableName: table, Item: formerNameRow(read.name, read.uuid), ...asRead(read) } },
        { Put: { TableName: table, Item: uuidRow } },
      ]);
      if (outcome === 'done') return 'updated';
      return outcome.refused.includes(1) ? 'changed' : 'name-taken';
    },
  };
}

function putNew(table: string, row: Record<string, unknown>) {
  return {
    Put: { TableName: table, Item: row, ConditionExpression: 'attribute_not_exists(pk)' },
  };
}

/** The condition that the row is of this revision. A later profile may have the name. */
function asRead({ uuid, revision }: DeviceProfile) {
  const isFirst = revision === 1;
  const isRevision = isFirst ? 'attribute_not_exists(#revision)' : '#revision = :revision';
  return {
    ConditionExpression: `#uuid = :uuid AND ${isRevision}`,
    ExpressionAttributeNames: { '#uuid': 'uuid', '#revision': 'revision' },
    ExpressionAttributeValues: { ':uuid': uuid, ...(!isFirst && { ':revision': revision }) },
  };
}
