import * as z from 'zod';
import { collection, common, uuid } from './shapes.ts';

export const attributeAnswer = z.strictObject({
  uuid,
  deployable_id: z.int().min(0),
  key: z.string().meta({ examples: ['rc'] }),
  value: z.string().meta({ examples: ['FPGA'] }),
  ...common,
});

export const attributesAnswer = collection('attributes', attributeAnswer);
