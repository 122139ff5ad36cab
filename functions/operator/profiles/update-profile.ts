import * as z from 'zod';
import { operatorProfile } from '#core/contracts/api/device-profiles.ts';
import { profileRequest } from '#core/contracts/api/profile-request.ts';
import { DeviceProfileNotFound, InvalidInput } from '#core/domain/errors.ts';
import { canonicalLists } from '#core/domain/profile/alternatives.ts';
import type { DeviceProfile } from '#core/domain/profile/device-profile.ts';
import { type ProfileContent, projectsMax } from '#core/domain/profile/profile-changes.ts';
import { findProfile } from '#core/operations/profiles/find-profile.ts';
import { updateDeviceProfile } from '#core/operations/profiles/update-device-profile.ts';
import { action } from '#functions/http/action.ts';
import { projectId } from '#functions/operator/page.ts';
import { checkProjects } from '#functions/operator/projects.ts';
import { profileReply } from './view-profile.ts';

const { name, description, groups } = profileRequest.shape;
const body = z.strictObject({
  name,
  description,
  groups,
  alternatives: z.array(groups).max(32).nullish().meta({
    description:
      'further lists of groups of the same shape, in order; kept if absent, removed by null',
  }),
  projects: z.array(projectId).min(1).max(projectsMax).nullish().meta({
    description: 'the only projects that see it; null or absent for all',
  }),
});

/** Replaces all that the body has; a profile that is disabled stays so. */
export const updateProfileAction = action(
  { body, answers: { 200: operatorProfile }, refuses: [404, 409, 412] },
  async ({ deps, id, headers, body, about }) => {
    about({ profile: body.name });
    const replaced = {
      name: body.name,
      description: body.description ?? undefined,
      projects: body.projects ? [...new Set(body.projects)].sort() : undefined,
    };
    const revision = readRevision(headers['if-match']);
    const change = (profile: DeviceProfile): ProfileContent => {
      const lists = body.alternatives === undefined ? profile.alternatives : body.alternatives;
      const { groups, alternatives } = canonicalLists(body.groups, lists ?? []);
      return { ...replaced, groups, alternatives, disabled: profile.disabled };
    };
    if (replaced.projects) {
      const profile = await findProfile(deps, id);
      if (!profile) throw new DeviceProfileNotFound(id);
      // A project may have gone from Keystone since the profile named it.
      const added = replaced.projects.filter((each) => !profile.projects?.includes(each));
      await checkProjects(deps, added);
    }
    return profileReply(await updateDeviceProfile(deps, id, change, revision));
  },
);

/**
 * The revision in `If-Match`; undefined if the header is absent or names any.
 *
 * @throws InvalidInput
 */
function readRevision(header: string | undefined): number | undefined {
  if (header === undefined || header.trim() === '*') return undefined;
  const [, revision] = /^(?:W\/)?"(\d{1,9})"$/.exec(header.trim()) ?? [];
  if (revision === undefined) {
    throw new InvalidInput('If-Match must be the ETag of the profile, such as "3".');
  }
  return Number(revision);
}
