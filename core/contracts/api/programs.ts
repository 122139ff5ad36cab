import * as z from 'zod';
import { type AnswerOf, answered } from '#core/shapes/derive/derive.ts';
import { verified } from '#core/shapes/derive/fields.ts';
import { componentFacts, type firmwareBaseline } from '#core/shapes/device.ts';
import { operatorStatuses, programStates } from '#core/shapes/vocabulary/words.ts';
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
  percent: z.int().min(0).max(100).nullable().meta({
    description:
      'how much of a component is written, as its host has last reported, once a minute; null where nothing is written, and for a bitstream',
  }),
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

const model = z
  .string()
  .meta({ description: 'vendor and product, as images name them', examples: ['8086:0b30'] });
const component = z.string().meta({ examples: ['bmc', 'shell'] });
const { name, version, date, digest } = componentFacts.shape;

/** A device with components, for those who keep them up to date. */
export const firmwareAnswer = z.strictObject({
  device_uuid: uuid,
  hostname: z.string().meta({ examples: ['cmp1.example.org'] }),
  model,
  status: z.enum(operatorStatuses),
  health: z.string().nullable().meta({ description: 'why it is unhealthy; null if it is not' }),
  components: z.array(
    z.strictObject({
      ...answered(z.object({ name, version, date, digest })),
      baseline: z.string().nullable().meta({
        description: 'the version that operators want; null if none is set',
      }),
    }),
  ),
  programs: programsAnswer,
  shell_deployable_uuid: uuid.nullable().meta({
    description: 'the deployable by whose path `/shell` the shell is programmed; null without one',
  }),
});

export const baselineAnswer = z.strictObject({
  model,
  component,
  version: z.string(),
  by: z.string().meta({ description: 'id of the user' }),
  at: time,
} satisfies AnswerOf<typeof firmwareBaseline>);

/** An image that devices of the model may be programmed with. */
export const componentImageAnswer = z.strictObject({
  image_uuid: uuid,
  model,
  component,
  version: z.string().meta({ description: 'what the component shows when it runs the image' }),
});
