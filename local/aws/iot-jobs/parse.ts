import type * as z from 'zod';
import { JobsError } from './errors.ts';

/** @throws JobsError InvalidRequest, which names the first wrong field */
export function parse<T extends z.ZodType>(schema: T, input: unknown): z.output<T> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? ' (not supported by the fake)' : '';
  const message = `${issue?.path.join('.')}: ${issue?.message}${unknown}`;
  throw new JobsError('InvalidRequest', message);
}
