import * as z from 'zod';
import { deviceTypes } from '#core/shapes/words.ts';
import { collection, common, time, uuid } from './shapes.ts';

export const deviceAnswer = z.strictObject({
  uuid,
  type: z.enum(deviceTypes),
  vendor: z.string().meta({ examples: ['10de'] }),
  model: z.string(),
  std_board_info: z.string().nullable(),
  vendor_board_info: z.string().nullable(),
  hostname: z.string(),
  status: z.enum(['enabled', 'maintaining']),
  reason: z
    .string()
    .nullable()
    .meta({ description: 'why an operator set the status, if he said so' }),
  status_changed_by: z
    .string()
    .nullable()
    .meta({ description: 'id of the user; null for a caller who may not list hosts' }),
  status_changed_at: time.nullable(),
  ...common,
});

export const devicesAnswer = collection('devices', deviceAnswer);

/** Handles that are free, and handles that are free once their host has cleaned up; by uuid. */
export const freedAnswer = z.strictObject({
  device_uuid: uuid,
  attach_handles: z.array(uuid),
  cleaning: z.array(uuid),
});
