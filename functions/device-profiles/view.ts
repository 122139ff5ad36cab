import type { DeviceProfile } from '#core/domain/profile/device-profile.ts';
import { selfLink, timestamp } from '#functions/http/links.ts';

export function viewDeviceProfile(profile: DeviceProfile, base: string) {
  return {
    uuid: profile.uuid as string,
    name: profile.name,
    description: profile.description ?? null,
    groups: profile.groups,
    created_at: timestamp(profile.createdAt),
    updated_at: timestamp(profile.updatedAt),
    links: [selfLink(base, `/device_profiles/${profile.uuid}`)],
  };
}
