// Rows of device profiles.

import * as z from 'zod';
import type { DeviceProfile, ProfileDeletion } from '#core/domain/profile/device-profile.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { texts } from '#core/shapes/derive/fields.ts';
import { profileDeletion, profileFields } from '#core/shapes/device-profile.ts';
import { fromRow, parseText } from './row-fields.ts';
import { creationOrder, type Row } from './rows.ts';

export const profileNameKey = (name: string) => ({ pk: `NAME#${name}` });
/** The row of a name that a profile had before: it leads to the profile, and keeps the name. */
export const formerNameRow = (name: string, uuid: string): Row => ({
  ...profileNameKey(name),
  former_name_of: uuid,
});
export const isFormerName = (row: Row) => row.former_name_of !== undefined;
export const profileUuidKey = (uuid: string) => ({ pk: `UUID#${uuid}` });
const profileDeletionKey = (uuid: string) => ({ pk: `DELETED#${uuid}` });

const storedGroups = z.array(texts);
const storedLists = z.array(storedGroups);
const storedProfile = profileFields.extend({
  groups: z.string(),
  alternatives: z.string().exactOptional(),
});

export function profileRow(profile: DeviceProfile): Row {
  const { revision, ...fields } = toWire(profileFields, profile);
  return {
    ...profileNameKey(profile.name),
    ...fields,
    // A row of the first revision has none.
    ...(revision > 1 && { revision }),
    kind: 'device-profile',
    created_key: creationOrder(profile.createdAt, profile.uuid),
    groups: JSON.stringify(profile.groups),
    ...(profile.alternatives && { alternatives: JSON.stringify(profile.alternatives) }),
  };
}

export function toProfile(row: Row): DeviceProfile {
  const { groups, alternatives, ...profile } = fromRow(storedProfile, row);
  return {
    ...profile,
    groups: parseText(storedGroups, row, groups),
    ...(alternatives && { alternatives: parseText(storedLists, row, alternatives) }),
  };
}

/** How long DynamoDB's streams keep a change. */
const streamSeconds = 24 * 60 * 60;

/** @param uuid of the first of the profiles */
export function profileDeletionRow(uuid: string, deletion: ProfileDeletion): Row {
  return {
    ...profileDeletionKey(uuid),
    ...toWire(profileDeletion, deletion),
    expires_at: Math.ceil(Date.parse(deletion.at) / 1000) + streamSeconds,
  };
}

export function toProfileDeletion(row: Row): ProfileDeletion {
  return fromRow(profileDeletion, row);
}
