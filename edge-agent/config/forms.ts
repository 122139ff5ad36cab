// The forms that settings of the agent have.

import * as z from 'zod';
import { attachType } from '#core/shapes/attach-handle.ts';
import { parseJson } from '#core/shapes/derive/parse-json.ts';

export const commaList = z
  .union([z.string().transform((text) => text.split(',')), z.array(z.string())], 'must be a list')
  .transform((names) => names.map((name) => name.trim()).filter((name) => name !== ''));

// Accepts Cyborg's names `fake_driver` and `pci_driver` too, also with hyphens.
export const driverList = commaList
  .transform((names) => names.map((name) => name.replaceAll('-', '_').replace(/_driver$/, '')))
  .refine((names) => new Set(names).size === names.length, 'must not name a driver more than once');

export const typeList = commaList
  .superRefine((names, context) => {
    const valid = attachType.options.join(', ');
    const unknown = names.find((name) => !attachType.safeParse(name).success);
    const message =
      unknown === undefined
        ? `must name at least one of ${valid}`
        : `unknown type ${JSON.stringify(unknown)}; valid are ${valid}`;
    if (names.length === 0 || unknown !== undefined) context.addIssue({ code: 'custom', message });
  })
  .transform((names) => attachType.options.filter((type) => names.includes(type)));

export const endpoint = z
  .string()
  .regex(/^(\[[0-9a-fA-F:.]+\]|[a-zA-Z0-9.-]+)(:\d{1,5})?$/, 'must be host:port')
  .transform((text) => {
    const [, host = '', port = '8883'] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(text) ?? [];
    return { host, port: Number(port) };
  })
  .refine(({ port }) => port >= 1 && port <= 65535, 'must have a port from 1 to 65535');

export const absolutePath = z.string().startsWith('/', 'must be an absolute path');

export const pathList = commaList.pipe(z.array(absolutePath).min(1, 'must name at least one'));

export const jsonText = z.string().transform((text, context): unknown => {
  const value = parseJson(text);
  if (value === undefined) context.addIssue({ code: 'custom', message: 'must be JSON' });
  return value;
});

export const port = z.coerce
  .number('must be a port')
  .int('must be a port')
  .min(1, 'must be at least 1')
  .max(65_535, 'must be at most 65535');

export const interval = z.coerce
  .number('must be a number of seconds')
  .int('must be a whole number of seconds')
  .min(1, 'must be at least 1')
  .max(3600, 'must be at most 3600');

export const days = z.coerce
  .number('must be a number of days')
  .int('must be a whole number of days')
  .min(1, 'must be at least 1')
  .max(3650, 'must be at most 3650');

/** Settings of a driver, which are JSON in the environment. */
export function readDriverSettings(
  text: unknown,
): { readonly settings: unknown } | { fault: string } {
  if (typeof text !== 'string') return { settings: text };
  const parsed = jsonText.safeParse(text);
  return parsed.success ? { settings: parsed.data } : { fault: 'must be JSON' };
}
