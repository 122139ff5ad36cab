// Device profiles. A row has the groups as text, beside these fields.

import * as z from 'zod';
import { changeNote, id, optionalText } from './derive/fields.ts';
import type { DeviceProfileUuid } from './ids.ts';

/** Who changed the groups last, as in a change note, and by which request. */
export const profileUpdate = z.object({
  updated_at: optionalText,
  updated_by: optionalText,
  update_request_id: optionalText,
});

export const profileFields = z.object({
  uuid: id<DeviceProfileUuid>(),
  name: z.string(),
  description: optionalText,
  /** The microversion of its creation is the version of its form. */
  microversion: z.string(),
  /** Who created it, as in a change note, and by which request. */
  created_by: optionalText,
  request_id: optionalText,
  created_at: z.string(),
  ...profileUpdate.shape,
});

/** Which profiles one request deleted. Kept for a day, in which the streams' consumers read it. */
export const profileDeletion = z.object({ ...changeNote.shape, names: z.array(z.string()) });
