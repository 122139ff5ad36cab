// The setting `gates`: programs of the operator that judge a device between two tenants.

import * as z from 'zod';
import { absolutePath, jsonText } from './forms.ts';

/** A gate runs beside the driver's own cleaning, which may take days. */
const limitSecondsMax = 24 * 3600;

const gate = z.strictObject({
  program: absolutePath,
  time_limit_seconds: z
    .number('must be a number of seconds')
    .int('must be a whole number of seconds')
    .min(1, 'must be at least 1')
    .max(limitSecondsMax, `must be at most ${limitSecondsMax}`)
    .default(300),
});
export type GateSettings = z.infer<typeof gate>;

/** Resource classes are upper case, and names of drivers are lower case. */
const keyForm = /^([A-Z][A-Z0-9_]{0,254}|[a-z][a-z0-9_]{0,63})$/;

const byKey = z.record(z.string(), gate, 'must be an object').superRefine((gates, context) => {
  for (const key of Object.keys(gates)) {
    if (keyForm.test(key)) continue;
    const message = 'must be a resource class or a driver';
    context.addIssue({ code: 'custom', path: [key], message });
  }
});

export function isDriverKey(key: string): boolean {
  return /^[a-z]/.test(key);
}

/** The environment has them as JSON. */
export const gateSettings = z.union([jsonText.pipe(byKey), byKey]);
