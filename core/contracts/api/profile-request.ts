// A device profile as a client asks for it. core/domain/profile/device-profile.ts has the rules
// of its groups.

import * as z from 'zod';

/** What only answers have; ignored, so that an answer can be sent again. */
const ofAnswers = z.unknown().meta({ description: 'ignored' }).optional();

const groupValue = z.union([z.string().max(255), z.number().int()], {
  error: 'must be an integer, or text of at most 255 characters',
});

export const profileRequest = z.strictObject({
  name: z.string(),
  description: z.string().max(1024).nullish(),
  uuid: z.string().nullish(),
  groups: z.array(z.record(z.string().max(300), groupValue)).max(32),
  id: ofAnswers,
  created_at: ofAnswers,
  updated_at: ofAnswers,
  links: ofAnswers,
});
export type ProfileBody = z.infer<typeof profileRequest>;
