import * as z from 'zod';
import { shownStates } from '#core/domain/arq/arq.ts';
import type { arqFields } from '#core/shapes/arq.ts';
import type { AnswerOf } from '#core/shapes/derive/derive.ts';
import { attachTypes } from '#core/shapes/vocabulary/words.ts';
import { collection, common, uuid } from './shapes.ts';

export const arqAnswer = z.strictObject({
  uuid,
  state: z.enum(shownStates),
  device_profile_name: z.string(),
  device_profile_group_id: z.int().min(0),
  hostname: z.string().nullable(),
  device_rp_uuid: uuid.nullable(),
  instance_uuid: uuid.nullable(),
  project_id: z.string(),
  attach_handle_type: z.enum(['', ...attachTypes]),
  attach_handle_uuid: uuid.nullable(),
  attach_handle_info: z
    .record(z.string(), z.string())
    .meta({ examples: [{ domain: '0000', bus: '3b', device: '00', function: '1' }] }),
  ...common,
} satisfies AnswerOf<
  typeof arqFields,
  'group_id' | 'profile_revision' | 'checks_allocation' | 'failure' | 'created_by' | 'request_id'
>);

export const arqsAnswer = collection('arqs', arqAnswer);
