// Rows of device profiles.

import * as z from 'zod';
import type { DeviceProfileUuid } from '#core/domain/ids.ts';
import type { DeviceProfile, ProfileDeletion } from '#core/domain/profile/device-profile.ts';
import { anId, camelNamed, parseRow, parseText, snakeNamed, texts } from './row-fields.ts';
import { creationOrder, type Row } from './rows.ts';

export const profileNameKey = (name: string) => ({ pk: `NAME#${name}` });
export const profileUuidKey = (uuid: string) => ({ pk: `UUID#${uuid}` });
export const profileDeletionKey = (uuid: string) => ({ pk: `DELETED#${uuid}` });

const storedGroups = z.array(texts);
const storedProfile = z.object({
  uuid: anId<DeviceProfileUuid>(),
  name: z.string(),
  description: z.string().exactOptional(),
  groups: z.string(),
  microversion: z.string(),
  created_by: z.string().exactOptional(),
  request_id: z.string().exactOptional(),
  created_at: z.string(),
  updated_at: z.string().exactOptional(),
  updated_by: z.string().exactOptional(),
  update_request_id: z.string().exactOptional(),
});

export function profileRow({ groups, ...profile }: DeviceProfile): Row {
  return {
    ...profileNameKey(profile.name),
    ...snakeNamed(profile),
    kind: 'device-profile',
    created_key: creationOrder(profile.createdAt, profile.uuid),
    groups: groupsText(groups),
  };
}

/** The groups as a row has them. */
export function groupsText(groups: DeviceProfile['groups']): string {
  return JSON.stringify(groups);
}

export function profileOf(row: Row): DeviceProfile {
  const { groups, ...profile } = parseRow(storedProfile, row);
  return { ...camelNamed(profile), groups: parseText(storedGroups, row, groups) };
}

const storedDeletion = z.object({
  names: z.array(z.string()),
  at: z.string(),
  by: z.string(),
  request_id: z.string().exactOptional(),
});

/** How long DynamoDB's streams keep a change. */
const streamSeconds = 24 * 60 * 60;

/** @param uuid of the first of the profiles */
export function profileDeletionRow(uuid: string, deletion: ProfileDeletion): Row {
  return {
    ...profileDeletionKey(uuid),
    ...snakeNamed(deletion),
    expires_at: Math.ceil(Date.parse(deletion.at) / 1000) + streamSeconds,
  };
}

export function profileDeletionOf(row: Row): ProfileDeletion {
  return camelNamed(parseRow(storedDeletion, row));
}
