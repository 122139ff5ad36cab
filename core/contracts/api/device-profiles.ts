import * as z from 'zod';
import type { AnswerOf } from '#core/shapes/derive/derive.ts';
import type { profileFields } from '#core/shapes/device-profile.ts';
import { collection, common, uuid } from './shapes.ts';

export const profileAnswer = z.strictObject({
  uuid,
  name: z.string(),
  description: z.string().nullable(),
  groups: z
    .array(z.record(z.string(), z.string()))
    .meta({ examples: [[{ 'resources:FPGA': '1', 'trait:CUSTOM_FAKE_DEVICE': 'required' }]] }),
  ...common,
} satisfies AnswerOf<
  typeof profileFields,
  'microversion' | 'created_by' | 'request_id' | 'updated_by' | 'update_request_id'
>);

export const profilesAnswer = collection('device_profiles', profileAnswer);

export const shownProfile = z.strictObject({ device_profile: profileAnswer });

/** The bare object for a list of one, as deployed Cyborg answers; otherwise a collection. */
export const createdProfiles = z.union([profileAnswer, profilesAnswer]);
