// Device profiles that operators create, change, rename and delete.

import { type ProfileContent, toContent } from '#core/domain/profile/profile-changes.ts';
import { updateDeviceProfile } from '#core/operations/profiles/update-device-profile.ts';
import { type Act, asAdmin, inTurn } from '#simulation/world/acts.ts';
import type { Operation } from './operations.ts';

const profileUuid = '6b9a7c52-0d53-4e0e-9a3b-0a6f3b0c7d11';

const createProfile =
  (name: string, uuid?: string): Act =>
  (world) =>
    asAdmin(world, 'POST', '/device_profiles', [
      { name, ...(uuid && { uuid }), groups: [{ 'resources:FPGA': '1' }] },
    ]);

const deleteProfile: Act = (world) => asAdmin(world, 'DELETE', '/device_profiles?value=one');

/** The process of the operator may die. */
function change(part: Partial<ProfileContent>): Act {
  return ({ depsFor, spawn }) => {
    const edited = updateDeviceProfile(depsFor(spawn('operator')), 'one', (profile) => ({
      ...toContent(profile),
      ...part,
    }));
    return edited.then(
      () => {},
      () => {},
    );
  };
}

const renameProfile = (name: string): Act => change({ name });
const growProfile = change({ groups: [{ 'resources:FPGA': '2' }] });
const describeProfile: Act = (world) =>
  change({ description: `at ${world.timeline.now()}` })(world);

export const profileOperations: Readonly<Record<string, Operation>> = {
  'create a profile': { about: ['profile'], act: createProfile('one', profileUuid) },
  'delete a profile': {
    about: ['profile'],
    prepare: createProfile('one'),
    act: deleteProfile,
  },
  'change a profile': {
    about: ['profile'],
    prepare: createProfile('one', profileUuid),
    act: growProfile,
  },
  'change a profile again': {
    about: ['profile'],
    prepare: inTurn(createProfile('one', profileUuid), 5000, describeProfile),
    act: growProfile,
  },
  'rename a profile': {
    about: ['profile'],
    prepare: createProfile('one', profileUuid),
    act: renameProfile('two'),
  },
  'rename a profile back': {
    about: ['profile'],
    prepare: inTurn(createProfile('one', profileUuid), 5000, renameProfile('two')),
    act: renameProfile('one'),
  },
};

/** Beside these operations. */
export const concurrentProfileOperations: Readonly<
  Record<string, Pick<Operation, 'about' | 'act'>>
> = {
  'create the same profile': { about: ['profile'], act: createProfile('one') },
  'create a profile with the same uuid': {
    about: ['profile'],
    act: createProfile('two', profileUuid),
  },
  'create another profile': { about: ['profile'], act: createProfile('two') },
  'describe the profile': { about: ['profile'], act: describeProfile },
  'rename the profile to another name': { about: ['profile'], act: renameProfile('three') },
  'rename the profile and back': {
    about: ['profile'],
    act: inTurn(renameProfile('two'), 3000, renameProfile('one')),
  },
  'delete the profile': { about: ['profile'], act: deleteProfile },
  'recreate the profile': {
    about: ['profile'],
    act: inTurn(deleteProfile, 3000, createProfile('one')),
  },
};
