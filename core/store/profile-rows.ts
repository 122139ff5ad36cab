// Device profiles as DynamoDB holds them, and back.

import type { DeviceProfile, Group } from '../domain/device-profile.ts';
import { creationOrder, type Row } from './rows.ts';

export const profileNameKey = (name: string) => ({ pk: `NAME#${name}` });
export const profileUuidKey = (uuid: string) => ({ pk: `UUID#${uuid}` });

export function profileRow(profile: DeviceProfile): Row {
  return {
    ...profileNameKey(profile.name),
    kind: 'device-profile',
    uuid: profile.uuid,
    created_key: creationOrder(profile.createdAt, profile.uuid),
    name: profile.name,
    description: profile.description,
    groups: JSON.stringify(profile.groups),
    microversion: profile.microversion,
    created_at: profile.createdAt,
    updated_at: profile.updatedAt,
  };
}

export function profileOf(row: Row): DeviceProfile {
  const stored = row as {
    uuid: DeviceProfile['uuid'];
    name: string;
    description?: string;
    groups: string;
    microversion: string;
    created_at: string;
    updated_at?: string;
  };
  return {
    uuid: stored.uuid,
    name: stored.name,
    ...(stored.description !== undefined && { description: stored.description }),
    groups: JSON.parse(stored.groups) as Group[],
    microversion: stored.microversion,
    createdAt: stored.created_at,
    ...(stored.updated_at && { updatedAt: stored.updated_at }),
  };
}
