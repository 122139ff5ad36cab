import { profileAnswer } from '#core/contracts/api/device-profiles.ts';
import type { DeviceProfile } from '#core/domain/profile/device-profile.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import { selfLink } from '#functions/http/links.ts';

export function viewDeviceProfile(profile: DeviceProfile, base: string) {
  const links = [selfLink(base, `/device_profiles/${profile.uuid}`)];
  return toWire(profileAnswer, { ...profile, links });
}
