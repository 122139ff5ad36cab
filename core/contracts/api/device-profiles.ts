import * as z from 'zod';
import type { AnswerOf } from '#core/shapes/derive/derive.ts';
import type { profileFields } from '#core/shapes/device-profile.ts';
import { collection, common, time, uuid } from './shapes.ts';

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
  | 'former_names'
  | 'revision'
  | 'microversion'
  | 'disabled'
  | 'projects'
  | 'amounts_changed_at'
  | 'created_by'
  | 'request_id'
  | 'updated_by'
  | 'update_request_id'
>);

/** What the operators' API shows of a profile, beside what Cyborg's shows. */
export const operatorProfile = z.strictObject({
  uuid,
  name: z.string(),
  former_names: z
    .array(z.string())
    .meta({ description: 'names that it had; flavors and servers may still use them' }),
  description: z.string().nullable(),
  groups: profileAnswer.shape.groups,
  alternatives: z
    .array(profileAnswer.shape.groups)
    .meta({ description: 'further lists of groups, in order; Nova is given the first that fits' }),
  revision: z.int().meta({ description: 'grows with each change' }),
  microversion: z.string().meta({ description: 'of the request that created it' }),
  disabled: z
    .strictObject({ by: z.string(), since: time, reason: z.string() })
    .nullable()
    .meta({ description: 'null unless an operator disabled it: it takes no new requests' }),
  projects: z
    .array(z.string())
    .nullable()
    .meta({ description: 'the only projects that see it; null for all' }),
  created_by: z.string().nullable(),
  created_at: time,
  updated_by: z.string().nullable(),
  updated_at: time.nullable(),
} satisfies AnswerOf<
  typeof profileFields,
  'amounts_changed_at' | 'request_id' | 'update_request_id'
>);

export const profilesAnswer = collection('device_profiles', profileAnswer);

export const shownProfile = z.strictObject({ device_profile: profileAnswer });

/** The bare object for a list of one, as deployed Cyborg answers; otherwise a collection. */
export const createdProfiles = z.union([profileAnswer, profilesAnswer]);
