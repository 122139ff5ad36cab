// The quota of a project, which is the key of its row.

import * as z from 'zod';
import { texts } from './derive/fields.ts';

const units = z.record(z.string(), z.number());

export const quota = z.object({
  /** Resource class → limit. A class without a limit is not counted. */
  limits: units,
  /** Limit less use, by resource class; below 0 where the limit was set below the use. */
  units_left: units,
  /**
   * ARQ uuid → resource class of the latest creations. An index need not show these ARQs yet, and
   * those of a creation that runs or has died are not stored.
   */
  recent: texts,
  /** Grows with each recount and each change of limits. */
  revision: z.number(),
  /** ARQs of the project that the last recount read. */
  counted_arqs: z.number(),
  /** ISO 8601. */
  counted_at: z.string(),
  /** When the limits were last set; ISO 8601. */
  updated_at: z.string(),
});
