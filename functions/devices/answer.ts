import * as z from 'zod';
import { deviceTypes } from '#core/domain/device.ts';
import { collection, common, uuid } from '../http/answers.ts';

export const deviceAnswer = z.strictObject({
  uuid,
  type: z.enum(deviceTypes),
  vendor: z.string().meta({ examples: ['10de'] }),
  model: z.string(),
  std_board_info: z.string().nullable(),
  vendor_board_info: z.string().nullable(),
  hostname: z.string(),
  status: z
    .enum(['enabled', 'maintaining'])
    .optional()
    .meta({ description: 'from microversion 2.3 on' }),
  ...common,
});

export const devicesAnswer = collection('devices', deviceAnswer);

/** What has been freed, and what is free when its host has cleaned up; by uuid. */
export const freedAnswer = z.strictObject({
  device_uuid: uuid,
  attach_handles: z.array(uuid),
  cleaning: z.array(uuid),
});
