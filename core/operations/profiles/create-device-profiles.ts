import type { NovaDeps } from '#core/deps.ts';
import { DeviceProfileExists, InvalidInput } from '#core/domain/errors.ts';
import type { DeviceProfileUuid } from '#core/domain/ids.ts';
import { canonicalLists } from '#core/domain/profile/alternatives.ts';
import {
  checkProfileName,
  checkProfileUuid,
  type DeviceProfile,
} from '#core/domain/profile/device-profile.ts';
import { makeChangeNote } from '#core/operations/make-change-note.ts';
import { present } from '#core/shapes/derive/present.ts';

export interface ProfileRequest {
  readonly name: string;
  readonly description?: string;
  readonly uuid?: string;
  readonly groups: readonly Readonly<Record<string, string | number>>[];
}

/** Two rows each, and a transaction takes a hundred. */
const profilesMax = 50;

/**
 * Creates all profiles or none.
 *
 * @throws InvalidInput, DeviceProfileExists
 */
export async function createDeviceProfiles(
  deps: NovaDeps,
  requests: readonly ProfileRequest[],
  microversion: string,
): Promise<DeviceProfile[]> {
  if (requests.length > profilesMax) {
    throw new InvalidInput(`At most ${profilesMax} device profiles can be created at once.`);
  }
  const { at: createdAt, by: createdBy, requestId } = makeChangeNote(deps);
  const profiles = requests.map((request): DeviceProfile => {
    checkProfileName(request.name);
    if (request.uuid !== undefined) checkProfileUuid(request.uuid);
    return {
      uuid: (request.uuid?.toLowerCase() ?? deps.uuid()) as DeviceProfileUuid,
      name: request.name,
      ...present({ description: request.description }),
      ...canonicalLists(request.groups, []),
      revision: 1,
      microversion,
      createdBy,
      ...present({ requestId }),
      createdAt,
    };
  });
  refuseDuplicates(
    'name',
    profiles.map((profile) => profile.name),
  );
  refuseDuplicates(
    'uuid',
    profiles.map((profile) => profile.uuid),
  );
  const outcome = await deps.store.profiles.create(profiles);
  if (outcome === 'created') return profiles;
  throw new DeviceProfileExists(outcome.taken, outcome.profile[outcome.taken]);
}

function refuseDuplicates(field: 'name' | 'uuid', values: readonly string[]): void {
  const duplicate = values.find((value, index) => values.indexOf(value) !== index);
  if (duplicate !== undefined) {
    throw new InvalidInput(`Duplicate ${field} ${duplicate} in the request.`);
  }
}
