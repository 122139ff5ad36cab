import { InvalidInput } from '#core/domain/errors.ts';
import { deleteDeviceProfiles } from '#core/operations/profiles/delete-device-profiles.ts';
import { novaAction } from '#functions/http/action.ts';
import { bySpecification } from './dialect.ts';
import { findProfiles } from './find.ts';
import { deleteQuery } from './schema.ts';

/** `?name=` is the specification's form, `?value=` deployed Cyborg's. All are deleted, or none. */
export const deleteMany = novaAction(
  { query: deleteQuery, answers: { 204: null }, refuses: [404, 409, 422] },
  async ({ deps, query }) => {
    if (query.name) {
      const names = query.name;
      await bySpecification(async () => {
        if (names.length === 0) throw new InvalidInput('No device profile is named.');
        await deleteDeviceProfiles(deps, () => findProfiles(deps, names, 'name'));
      });
      return {};
    }
    if (!query.value || query.value.length === 0) {
      throw new InvalidInput('No device profile is named: use ?name= or ?value=.');
    }
    const values = query.value;
    await deleteDeviceProfiles(deps, () => findProfiles(deps, values, 'any'));
    return {};
  },
);
