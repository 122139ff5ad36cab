import * as z from 'zod';
import { keyLengthMax, valueLengthMax } from '#core/domain/device/attribute.ts';
import { isIntegerText } from '#core/domain/integer-id.ts';
import { pageQuery } from '#functions/http/request/query.ts';

/** Cyborg takes an integer; openstacksdk sends the uuid. */
const deployableId = z.union(
  [z.guid(), z.string().regex(/^[0-9]{1,16}$/), z.int().min(0)],
  'a deployable is named by its uuid, or by the integer that listings show',
);

const attribute = z.strictObject({
  deployable_id: deployableId,
  key: z.string().min(1).max(keyLengthMax),
  value: z.string().max(valueLengthMax),
});

/** Bare as deployed Cyborg takes it, or wrapped as openstacksdk sends it. */
export const createBody = z.union([attribute, z.strictObject({ attribute })], {
  error: 'The body must be { deployable_id, key, value }, bare or as { attribute: { ... } }',
});

const { sort_key: _, ...page } = pageQuery;

export const listQuery = z.strictObject({
  deployable_id: z
    .string()
    .refine(
      (text) => isIntegerText(text) || z.guid().safeParse(text).success,
      'no integer, no uuid',
    )
    .optional(),
  key: z.string().max(keyLengthMax).optional(),
  ...page,
  sort_key: z.literal('uuid', "attributes are sorted by 'uuid' only").optional(),
});
