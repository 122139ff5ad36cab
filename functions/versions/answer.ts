import * as z from 'zod';
import { link } from '../http/answers.ts';

const version = z.strictObject({
  id: z.string(),
  status: z.literal('CURRENT'),
  version: z.string(),
  min_version: z.string(),
  max_version: z.string(),
  links: z.array(link),
});

export const rootAnswer = z.strictObject({
  name: z.string(),
  description: z.string(),
  versions: z.array(version),
  default_version: version,
});

export const v2Answer = version.extend({ versions: z.array(version) });
