// What both planes take, with AWS's limits.
// https://docs.aws.amazon.com/iot/latest/apireference/API_iot-jobs-data_UpdateJobExecution.html

import * as z from 'zod';

export const jobIdPattern = /^[a-zA-Z0-9_-]{1,64}$/;
export const thingPattern = /^[a-zA-Z0-9:_-]{1,128}$/;

/** Text for people may hold no control characters, a line's end included, and not be empty. */
export const plainText = /^[^\p{C}]+$/u;

/** A week, in minutes. */
export const timeoutMinutesMax = 10_080;

export const statusDetails = z
  .record(
    z.string().regex(/^[a-zA-Z0-9:_-]{1,128}$/, 'not a name of a detail'),
    z.string().max(1024).regex(plainText, 'empty, or with a control character'),
  )
  .refine((details) => Object.keys(details).length <= 10, 'more than ten details');

/** -1 ends the timer. */
export const stepTimeoutMinutes = z
  .number()
  .int()
  .max(timeoutMinutesMax)
  .refine((minutes) => minutes === -1 || minutes >= 1, 'neither -1 nor at least 1');
