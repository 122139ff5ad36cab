// Our own token for other services, in the form that containers share it.

import * as z from 'zod';

export const ownToken = z.object({
  token: z.string(),
  /** Milliseconds since 1970. */
  expiresAt: z.number(),
  endpoints: z.array(
    z.object({ type: z.string(), interface: z.string(), region: z.string(), url: z.string() }),
  ),
});
export type OwnToken = z.infer<typeof ownToken>;
