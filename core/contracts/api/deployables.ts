import * as z from 'zod';
import { regionFacts } from '#core/shapes/deployable.ts';
import { answered } from '#core/shapes/derive/derive.ts';
import { programStates } from '#core/shapes/vocabulary/words.ts';
import { programsAnswer } from './programs.ts';
import { collection, common, time, uuid } from './shapes.ts';

const integer = z.int().min(0).meta({ description: 'first 48 bits of the uuid' });

const program = z.strictObject({
  image_uuid: uuid,
  state: z.enum(programStates),
  reason: z.string().nullable(),
  requested_at: time,
});

export const deployableAnswer = z.strictObject({
  uuid,
  parent_id: integer.nullable(),
  root_id: integer.nullable(),
  name: z.string(),
  num_accelerators: z.int().min(0),
  device_id: integer,
  attributes_list: z.string().meta({ examples: ['[{"traits1":"OWNER_CYBORG"},{"rc":"FPGA"}]'] }),
  rp_uuid: uuid,
  driver_name: z.string(),
  ...answered(regionFacts),
  program: program
    .nullable()
    .meta({ description: 'the last program of the region that an operator requested' }),
  programs: programsAnswer,
  ...common,
});

export const deployablesAnswer = collection('deployables', deployableAnswer);

export const attributeAnswer = z.strictObject({
  uuid,
  deployable_id: z.int().min(0),
  key: z.string().meta({ examples: ['rc'] }),
  value: z.string().meta({ examples: ['FPGA'] }),
  ...common,
});

export const attributesAnswer = collection('attributes', attributeAnswer);
