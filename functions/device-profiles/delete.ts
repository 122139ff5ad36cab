import { InvalidInput } from '#core/domain/errors.ts';
import { deleteDeviceProfiles } from '#core/operations/profiles/delete-device-profiles.ts';
import { novaAction } from '#functions/http/action.ts';
import { findProfiles } from './find.ts';

/** Takes uuids or names, separated by commas. */
export const deleteOne = novaAction(
  { answers: { 204: null }, refuses: [404, 409] },
  async ({ deps, id }) => {
    const names = id.split(',').filter((part) => part !== '');
    if (names.length === 0) throw new InvalidInput('No device profile is named.');
    await deleteDeviceProfiles(deps, () => findProfiles(deps, names, 'any'));
    return {};
  },
);
