// The API's answers as the verbs read them. The service may be of another version: it may lack
// fields, have others, and use words that this version does not know.

import * as z from 'zod';
import { defOf, unwrapped } from '#core/shapes/derive/case.ts';
import { stored } from '#core/shapes/derive/derive.ts';

type Lenient<Value> = Value extends string
  ? string
  : Value extends readonly (infer Each)[]
    ? Lenient<Each>[]
    : Value extends object
      ? { [Name in keyof Value]?: Lenient<Value[Name]> | undefined }
      : Value;

export type Answer<Schema extends z.ZodType, Needed = never> = Lenient<z.output<Schema>> & {
  [Name in Needed & keyof z.output<Schema>]: Lenient<z.output<Schema>[Name]>;
};

/** @param needed fields without which the answer is not understood */
export function answer<Schema extends z.ZodObject, Needed extends keyof z.output<Schema> = never>(
  schema: Schema,
  ...needed: readonly Needed[]
): z.ZodType<Answer<Schema, Needed>> {
  const fields = Object.entries(schema.shape).map(([name, field]) => {
    const value = lenient(field as z.ZodType);
    return [name, needed.includes(name as Needed) ? value : value.optional()];
  });
  return z.looseObject(Object.fromEntries(fields)) as unknown as z.ZodType<Answer<Schema, Needed>>;
}

function lenient(schema: z.ZodType): z.ZodType {
  const { inner, isOptional, isNullable } = unwrapped(schema);
  if (isOptional || isNullable) return lenient(inner).nullish();
  const def = defOf(schema);
  switch (def.type) {
    case 'object':
      return answer(schema as z.ZodObject);
    case 'array':
      return z.array(lenient(def.element as z.ZodType));
    case 'record':
      return z.record(z.string(), lenient(def.valueType as z.ZodType));
    case 'enum':
      return z.string();
    default:
      return stored(schema);
  }
}
