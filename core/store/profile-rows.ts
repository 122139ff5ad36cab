// Rows of device profiles.

import * as z from 'zod';
import type { DeviceProfile } from '../domain/device-profile.ts';
import type { DeviceProfileUuid } from '../domain/ids.ts';
import { anId, camelNamed, parseRow, parseText, snakeNamed, texts } from './row-fields.ts';
import { creationOrder, type Row } from './rows.ts';

export const profileNameKey = (name: string) => ({ pk: `NAME#${name}` });
export const profileUuidKey = (uuid: string) => ({ pk: `UUID#${uuid}` });

const storedGroups = z.array(texts);
const storedProfile = z.object({
  uuid: anId<DeviceProfileUuid>(),
  name: z.string(),
  description: z.string().exactOptional(),
  groups: z.string(),
  microversion: z.string(),
  created_at: z.string(),
  updated_at: z.string().exactOptional(),
});

export function profileRow({ groups, ...profile }: DeviceProfile): Row {
  return {
    ...profileNameKey(profile.name),
    ...snakeNamed(profile),
    kind: 'device-profile',
    created_key: creationOrder(profile.createdAt, profile.uuid),
    groups: JSON.stringify(groups),
  };
}

export function profileOf(row: Row): DeviceProfile {
  const { groups, ...profile } = parseRow(storedProfile, row);
  return { ...camelNamed(profile), groups: parseText(storedGroups, row, groups) };
}
