import { DeviceProfileNotFound, NotAcceptable } from '#core/domain/errors.ts';
import { isUuid } from '#core/domain/ids.ts';
import { action } from '../http/action.ts';
import { isAtLeast } from '../http/microversion.ts';
import { noQuery } from '../http/query.ts';
import { shownProfile } from './answer.ts';
import { noneExist } from './dialect.ts';
import { viewDeviceProfile } from './view.ts';

/** By uuid, and from 2.2 by name. What looks like a uuid is one. */
export const getOne = action(
  { query: noQuery, answers: { 200: shownProfile }, refuses: [404, 422] },
  async ({ deps, id, base, microversion }) => {
    const byUuid = isUuid(id);
    if (!byUuid && !isAtLeast(microversion, '2.2')) {
      throw new NotAcceptable('A device profile is shown by name from microversion 2.2 on.');
    }
    const { profiles } = deps.store;
    const profile = byUuid ? await profiles.byUuid(id) : await profiles.byName(id);
    if (profile) return { body: { device_profile: viewDeviceProfile(profile, base) } };
    if (microversion === '2.0') throw noneExist(`No device profile of uuid ${id} exists.`);
    throw new DeviceProfileNotFound(id);
  },
);
