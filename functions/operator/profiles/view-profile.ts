import { operatorProfile } from '#core/contracts/api/device-profiles.ts';
import type { DeviceProfile } from '#core/domain/profile/device-profile.ts';
import { toWire } from '#core/shapes/derive/case.ts';
import type { Reply } from '#functions/http/action.ts';

export function viewProfile(profile: DeviceProfile) {
  const { disabled, formerNames = [], alternatives = [] } = profile;
  return toWire(operatorProfile, {
    ...profile,
    formerNames,
    alternatives,
    disabled: disabled && { by: disabled.by, since: disabled.at, reason: disabled.reason },
  });
}

/** With the entity tag that `If-Match` takes. */
export function profileReply(profile: DeviceProfile): Reply {
  return { headers: { ETag: `"${profile.revision}"` }, body: viewProfile(profile) };
}
