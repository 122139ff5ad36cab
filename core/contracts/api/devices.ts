import * as z from 'zod';
import { answered } from '#core/shapes/derive/derive.ts';
import { deviceFacts } from '#core/shapes/device.ts';
import { deviceStatuses } from '#core/shapes/words.ts';
import { programsAnswer } from './programs.ts';
import { collection, common, time, uuid } from './shapes.ts';

export const deviceAnswer = z.strictObject({
  uuid,
  ...answered(deviceFacts),
  hostname: z.string(),
  status: z.enum(deviceStatuses),
  reason: z
    .string()
    .nullable()
    .meta({ description: 'reason that the operator gave for the status' }),
  status_changed_by: z
    .string()
    .nullable()
    .meta({ description: 'id of the user; null for a caller who may not list hosts' }),
  status_changed_at: time.nullable(),
  programs: programsAnswer,
  ...common,
});

export const devicesAnswer = collection('devices', deviceAnswer);

/** Handles that are free, and handles that are free once their host has cleaned up; by uuid. */
export const freedAnswer = z.strictObject({
  device_uuid: uuid,
  attach_handles: z.array(uuid),
  cleaning: z.array(uuid),
});

export const resetAnswer = freedAnswer.omit({ attach_handles: true });
