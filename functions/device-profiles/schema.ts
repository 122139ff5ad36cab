import * as z from 'zod';
import { profileRequest } from '#core/contracts/api/profile-request.ts';
import {
  groupKeysMax,
  profileNameMax,
  profileNamePattern,
} from '#core/domain/profile/device-profile.ts';
import { commaList, pageQuery } from '#functions/http/request/query.ts';

/** The specification sends one object, Cyborg's clients a list. */
export const createBody = z.union([profileRequest, z.array(profileRequest).min(1)], {
  error: 'The body must be a device profile, or a list of device profiles',
});

/**
 * The body in the OpenAPI document: the rules of core/domain/profile/device-profile.ts that JSON
 * Schema can express. The code answers a broken rule with a sentence of its own.
 */
const documentedProfile = profileRequest.extend({
  name: z.string().regex(profileNamePattern).max(profileNameMax),
  uuid: z.guid().nullish(),
  groups: z
    .array(
      z
        .record(
          z
            .string()
            .regex(/^(resources|trait|accel):.+/)
            .max(300),
          z.union([z.string().max(255), z.number().int()]),
        )
        .meta({ minProperties: 1, maxProperties: groupKeysMax }),
    )
    .min(1)
    .max(32),
});
export const documentedBody = z.union([documentedProfile, z.array(documentedProfile).min(1)]);

export const listQuery = z.strictObject({ name: commaList(z.string()).optional(), ...pageQuery });

export const deleteQuery = z.strictObject({
  name: commaList(z.string()).optional(),
  value: commaList(z.string()).optional(),
});
