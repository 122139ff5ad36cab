// A device profile as a client asks for it. core/domain/profile/device-profile.ts has the rules
// of its groups.

import * as z from 'zod';

export const profileRequest = z.strictObject({
  name: z.string(),
  description: z.string().max(1024).nullish(),
  uuid: z.string().nullish(),
  groups: z
    .array(z.record(z.string().max(300), z.union([z.string().max(255), z.number().int()])))
    .max(32),
});
export type ProfileBody = z.infer<typeof profileRequest>;
