// Device profiles. A row has the groups as text, beside these fields.

import * as z from 'zod';
import { changeNote, id, optionalText } from './derive/fields.ts';
import type { DeviceProfileUuid } from './vocabulary/ids.ts';

/** Who changed the profile last, as in a change note, and by which request. */
export const profileUpdate = z.object({
  updated_at: optionalText,
  updated_by: optionalText,
  update_request_id: optionalText,
});

/** Who disabled the profile, when, and why. */
const disabling = z.object({ ...changeNote.shape, reason: z.string() });

export const profileFields = z.object({
  uuid: id<DeviceProfileUuid>(),
  name: z.string(),
  /** Names that it had: flavors and running servers may still use them. */
  former_names: z.array(z.string()).exactOptional(),
  description: optionalText,
  /** Grows with each change; a write holds only for the revision that was read. */
  revision: z.number().default(1),
  /** The microversion of its creation is the version of its form. */
  microversion: z.string(),
  /** Absent while the profile is enabled. */
  disabled: disabling.exactOptional(),
  /** The projects that see it; absent where all do. */
  projects: z.array(z.string()).exactOptional(),
  /** When the amounts that its groups request last changed; ISO 8601. */
  amounts_changed_at: optionalText,
  /** Who created it, as in a change note, and by which request. */
  created_by: optionalText,
  request_id: optionalText,
  created_at: z.string(),
  ...profileUpdate.shape,
});

/** Which profiles one request deleted. Kept for a day, in which the streams' consumers read it. */
export const profileDeletion = z.object({ ...changeNote.shape, names: z.array(z.string()) });
