import * as z from 'zod';
import { link } from './shapes.ts';

const version = z.strictObject({
  id: z.string(),
  status: z.literal('CURRENT'),
  version: z.string(),
  min_version: z.string(),
  max_version: z.string(),
  links: z.array(link),
});

const firstVersion = z.strictObject({
  id: z.literal('v1'),
  status: z.literal('DEPRECATED'),
  version: z.literal('1.0'),
  links: z.array(link),
});

export const rootAnswer = z.strictObject({
  name: z.string(),
  description: z.string(),
  versions: z.array(z.union([firstVersion, version])),
  default_version: version,
});

export const v2Answer = version.extend({ versions: z.array(version) });
