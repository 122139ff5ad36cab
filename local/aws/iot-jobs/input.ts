// Input that both the control plane and devices send, with AWS's limits.
// https://docs.aws.amazon.com/iot/latest/apireference/API_iot-jobs-data_UpdateJobExecution.html

import * as z from 'zod';
import { JobsError } from './errors.ts';

export const jobIdPattern = /^[a-zA-Z0-9_-]{1,64}$/;
export const thingPattern = /^[a-zA-Z0-9:_-]{1,128}$/;

/** Plain text is not empty and has no control characters, not even a line end. */
export const plainText = /^[^\p{C}]+$/u;

/** A week, in minutes. */
export const timeoutMinutesMax = 10_080;

export const statusDetails = z
  .record(
    z.string().regex(/^[a-zA-Z0-9:_-]{1,128}$/, 'not a valid name of a detail'),
    z.string().max(1024).regex(plainText, 'empty, or with a control character'),
  )
  .refine((details) => Object.keys(details).length <= 10, 'more than ten details');

/** In minutes; -1 ends the timer. */
export const stepTimeoutMinutes = z
  .number()
  .int()
  .max(timeoutMinutesMax)
  .refine((minutes) => minutes === -1 || minutes >= 1, 'neither -1 nor at least 1');

/** @throws JobsError InvalidRequest, which names the first wrong field */
export function parse<T extends z.ZodType>(schema: T, input: unknown): z.output<T> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? ' (not supported by the fake)' : '';
  const message = `${issue?.path.join('.')}: ${issue?.message}${unknown}`;
  throw new JobsError('InvalidRequest', message);
}
