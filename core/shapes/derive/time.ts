import * as z from 'zod';

/** A time of an answer. The domain has it with milliseconds, and `toWire` cuts them off. */
export const time = z
  .string()
  .regex(/^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\+00:00$/)
  .meta({ description: 'ISO 8601, UTC, whole seconds', examples: ['2026-07-01T01:02:03+00:00'] });
