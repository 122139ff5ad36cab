import * as z from 'zod';
import { holdSelector } from '#core/domain/device/device-holds.ts';
import { type AnswerOf, answered } from '#core/shapes/derive/derive.ts';
import { deviceFacts, type holdMark, type programGrant } from '#core/shapes/device.ts';
import { deviceStatuses, operatorStatuses } from '#core/shapes/vocabulary/words.ts';
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

export const programGrantAnswer = z.strictObject({
  project_id: z.string(),
  until: time,
  by: z.string().meta({ description: 'id of the user' }),
  at: time,
} satisfies AnswerOf<typeof programGrant>);

export const grantsAnswer = z.strictObject({
  device_uuid: uuid,
  grants: z.array(programGrantAnswer),
});

const markFields = {
  id: uuid.meta({ description: 'follows from the selector: the same selector is the same hold' }),
  reason: z.string(),
  until: time.nullable().meta({ description: 'when it ends by itself; null: when it is ended' }),
  by: z.string().meta({ description: 'id of the user' }),
  at: time,
} satisfies AnswerOf<typeof holdMark>;

/** A hold as a device shows it. */
export const holdMarkAnswer = z.strictObject(markFields);

export const holdAnswer = z.strictObject({
  ...markFields,
  ...answered(holdSelector),
  devices: z.int().nullable().meta({
    description: 'number of devices that match now; null where counting them takes too long',
  }),
});

export const holdDetailAnswer = holdAnswer.extend({
  devices: z
    .array(
      z.strictObject({
        device_uuid: uuid,
        hostname: z.string(),
        firmware: z.string().nullable(),
        status: z.enum(operatorStatuses),
      }),
    )
    .nullable(),
});
