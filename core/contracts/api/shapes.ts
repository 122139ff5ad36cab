// Shapes of answers that several resources share. They serve the OpenAPI document, the tests and
// the types of the console; no answer is parsed with them at run time.

import * as z from 'zod';
import { time } from '#core/shapes/derive/time.ts';

export { time };

export const uuid = z.guid();

export const link = z.strictObject({
  href: z.url(),
  rel: z.enum(['self', 'bookmark', 'next']),
});

export const common = { created_at: time, updated_at: time.nullable(), links: z.array(link) };

/**
 * A page: the rows below the collection's name, and a link to the next page if there may be one.
 */
export function collection<T extends z.ZodType>(name: string, row: T) {
  return z.strictObject({ [name]: z.array(row), [`${name}_links`]: z.array(link).optional() });
}

/** 4xx: Cyborg's clients read `error_message`; the device profile specification has `error`. */
export const fault = z.strictObject({
  error_message: z.string().meta({ description: 'JSON text: faultcode, faultstring, debuginfo' }),
  error: z.string().meta({ description: 'the error in a sentence' }),
});

/** The token is missing or not valid: the body of keystonemiddleware. */
export const tokenFault = z.strictObject({
  error: z.strictObject({ code: z.int(), title: z.string(), message: z.string() }),
});

/** 5xx: without `error`, which clients expect to be an object. */
export const serverFault = z.strictObject({ error_message: z.string() });
