// The forms of texts in environment variables.

import * as z from 'zod';

export const flag = (byDefault: boolean) =>
  z
    .enum(['true', 'false'])
    .default(byDefault ? 'true' : 'false')
    .transform((text) => text === 'true');

export const commaList = <T extends z.ZodType<unknown, string>>(item: T) =>
  z
    .string()
    .transform((text) => text.split(',').filter((part) => part !== ''))
    .pipe(z.array(item));

export const json = <T extends z.ZodType>(value: T) =>
  z
    .string()
    .default('{}')
    .transform((text, context) => {
      try {
        return JSON.parse(text);
      } catch (error) {
        context.addIssue(`not valid JSON: ${(error as Error).message}`);
        return z.NEVER;
      }
    })
    .pipe(value);

/** An address to which paths are appended. */
export const httpUrl = z
  .string()
  .refine(
    (text) => /^https?:\/\/[^/?#@\s]+(\/[^?#\s]*)?$/i.test(text) && URL.canParse(text),
    'must be an http or https URL without user, query and fragment, such as https://keystone.example.org:5000/v3',
  );
