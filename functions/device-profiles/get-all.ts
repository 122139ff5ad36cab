import { profilesAnswer } from '#core/contracts/api/device-profiles.ts';
import { isVisibleTo, seesAllProfiles } from '#core/domain/profile/profile-changes.ts';
import { giveAlternative } from '#core/operations/profiles/give-alternative.ts';
import { novaAction } from '#functions/http/action.ts';
import { toPage, uuidPage } from '#functions/http/request/query.ts';
import { noneExist } from './dialect.ts';
import { listQuery } from './schema.ts';
import { viewDeviceProfile } from './view.ts';

/**
 * Nova asks by name: that query reads base tables only. Nova reports an empty list as a missing
 * profile, and hides the sentence of a refusal, so a service gets the list, not the
 * specification's 422. A profile with alternatives has the groups that fit now for Nova's service,
 * and the first ones for all others.
 */
export const getAll = novaAction(
  { query: listQuery, answers: { 200: profilesAnswer }, refuses: [422] },
  async ({ deps, caller, query, base, microversion }) => {
    const { policy } = deps.settings;
    if (query.name) {
      const named = await deps.store.profiles.byNames(query.name);
      const profiles = named.filter((profile) => isVisibleTo(caller, profile, policy));
      if (profiles.length === 0 && microversion === '2.0' && !caller.hasServiceToken) {
        throw noneExist(`No device profile named ${query.name.join(', ')} exists.`);
      }
      const shown = caller.hasServiceToken
        ? await Promise.all(
            profiles.map(async (profile) => ({
              ...profile,
              groups: await giveAlternative(deps, profile, caller.projectId),
            })),
          )
        : profiles;
      return { body: { device_profiles: shown.map((each) => viewDeviceProfile(each, base)) } };
    }
    const visibleTo = seesAllProfiles(caller, policy) ? undefined : caller.projectId;
    const profiles = await deps.listings.profiles(toPage(query), visibleTo);
    const { name: _, ...page } = query;
    const rows = profiles.map((each) => viewDeviceProfile(each, base));
    return {
      body: uuidPage('device_profiles', rows, { base, path: '/device_profiles', query: page }),
    };
  },
);
