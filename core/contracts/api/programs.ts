import * as z from 'zod';
import { verified } from '#core/shapes/derive/fields.ts';
import { programStates } from '#core/shapes/words.ts';
import { time, uuid } from './shapes.ts';

/** The last program of a region or component. */
const programAnswer = z.strictObject({
  what: z.string().meta({
    description: '`bitstream`, or the component',
    examples: ['bitstream', 'shell', 'bmc'],
  }),
  image_uuid: uuid,
  version: z
    .string()
    .nullable()
    .meta({ description: 'what a component must show afterwards; null for a bitstream' }),
  state: z.enum(programStates),
  reason: z.string().nullable().meta({ description: 'the step that failed, and why' }),
  evidence: verified.nullable().meta({ description: 'what the host has read back' }),
  requested_by: z
    .string()
    .nullable()
    .meta({ description: 'id of the user; null for a caller who may not list hosts' }),
  requested_at: time,
});

export const programsAnswer = z
  .array(programAnswer)
  .meta({ description: 'the last program of each region and component that had one' });
