import * as z from 'zod';
import { createdProfiles } from '#core/contracts/api/device-profiles.ts';
import type { ProfileBody } from '#core/contracts/api/profile-request.ts';
import {
  createDeviceProfiles,
  type ProfileRequest,
} from '#core/operations/profiles/create-device-profiles.ts';
import { novaAction } from '#functions/http/action.ts';
import { validate } from '#functions/http/request/body.ts';
import { bySpecification } from './dialect.ts';
import { createBody, documentedBody } from './schema.ts';
import { viewDeviceProfile } from './view.ts';

export const create = novaAction(
  {
    body: z.unknown().refine((body) => body !== undefined),
    documentedBody,
    answers: { 201: createdProfiles, 204: null },
    refuses: [409, 422],
  },
  async ({ deps, body, base, microversion }) => {
    const isBySpecification = !Array.isArray(body);
    const work = async () => {
      const parsed = validate(createBody, body);
      const requests = (Array.isArray(parsed) ? parsed : [parsed]).map(toRequest);
      return createDeviceProfiles(deps, requests, microversion);
    };
    if (isBySpecification) {
      await bySpecification(work);
      return { status: 204 };
    }
    const created = (await work()).map((profile) => viewDeviceProfile(profile, base));
    // Deployed Cyborg accepts a list of one and answers the bare object.
    return { body: created.length === 1 ? created[0] : { device_profiles: created } };
  },
);

function toRequest({ name, description, uuid, groups }: ProfileBody): ProfileRequest {
  return {
    name,
    groups,
    ...(description != null && { description }),
    ...(uuid != null && { uuid }),
  };
}
