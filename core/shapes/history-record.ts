// A record of the history.

import * as z from 'zod';
import { optionalText, verified } from './derive/fields.ts';
import { historyKinds } from './vocabulary/history-kinds.ts';

/** Who called, and what was answered. */
export const historyCall = z.object({
  rule: z.string().meta({ description: 'rule of the policy' }),
  method: z.string(),
  path: z.string(),
  status: z.int(),
  /** The project of the caller's token. */
  project: z.string(),
  roles: z.array(z.string()),
  /** JSON text: what the body asked for, if the path does not say it. */
  given: optionalText,
});

export const historyRecord = z.object({
  /** The same for each reading of the same change. */
  id: z.string(),
  /** ISO 8601, to the millisecond where the row has it, else to the second. */
  at: z.string(),
  kind: z.enum(historyKinds),
  from: optionalText,
  to: optionalText,
  /** ISO 8601: start of the state `from`. */
  since: optionalText,
  hostname: optionalText,
  device_uuid: optionalText,
  provider_uuid: optionalText,
  handle_uuid: optionalText,
  resource_class: optionalText,
  arq_uuid: optionalText,
  /** A bind is one change of all ARQs of an instance. */
  arq_uuids: z.array(z.string()).exactOptional(),
  instance_uuid: optionalText,
  project_id: optionalText,
  profile_name: optionalText,
  /** The actor of a change note. */
  by: optionalText,
  request_id: optionalText,
  reason: optionalText,
  call: historyCall.exactOptional(),
  /** What the host verified after cleaning. */
  evidence: verified.exactOptional(),
});
