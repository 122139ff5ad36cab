// Schemas that follow from a shape.

import * as z from 'zod';
import { defOf, unwrapped } from './case.ts';

/**
 * The schema by which a stored row is read: without the shape's limits and patterns, which a later
 * version may tighten although rows of an earlier one are stored.
 */
export function stored(schema: z.ZodType): z.ZodType {
  const { inner, isOptional, isNullable } = unwrapped(schema);
  if (isOptional || isNullable) return z.exactOptional(stored(inner));
  const def = defOf(schema);
  switch (def.type) {
    case 'string':
      return z.string();
    case 'number':
      return z.number();
    case 'array':
      return z.array(stored(def.element as z.ZodType));
    case 'record':
      return z.record(z.string(), stored(def.valueType as z.ZodType));
    case 'union': {
      const options = def.options.map((option) => stored(option as z.ZodType));
      return options.every((option) => defOf(option).type === 'string')
        ? z.string()
        : z.union(options);
    }
    case 'object':
      return z.object(mapShape(def.shape as z.ZodRawShape, stored));
    case 'default':
      return z._default(stored(def.innerType as z.ZodType), def.defaultValue);
    default:
      return schema;
  }
}

type Answered<Value> = undefined extends Value ? Exclude<Value, undefined | null> | null : Value;

/** The fields of the shape as an answer has them: null where the shape allows no value. */
export function answered<Shape extends z.ZodRawShape>({ shape }: z.ZodObject<Shape>) {
  return mapShape(shape, (schema) => {
    const { inner, isOptional, isNullable } = unwrapped(schema);
    const meta = inner.meta();
    const value = meta ? stored(inner).meta(meta) : stored(inner);
    return isOptional || isNullable ? z.nullable(value) : value;
  }) as { [Name in keyof Shape]: z.ZodType<Answered<z.output<Shape[Name]>>> };
}

/** An answer with words of its own for each field of the shape, but for those that are named. */
export type AnswerOf<
  Schema extends z.ZodObject,
  Others extends keyof Schema['shape'] = never,
> = Readonly<Record<Exclude<keyof Schema['shape'], Others> | (string & {}), z.ZodType>>;

type Hyphened<Name> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}-${Hyphened<Tail>}`
  : Name;

/** The fields under the names of the agent-driver specification. */
export function hyphened<Shape extends z.ZodRawShape>({ shape }: z.ZodObject<Shape>) {
  return Object.fromEntries(
    Object.entries(shape).map(([name, schema]) => [name.replaceAll('_', '-'), schema]),
  ) as { [Name in keyof Shape as Hyphened<Name>]: Shape[Name] };
}

function mapShape(shape: z.ZodRawShape, change: (schema: z.ZodType) => z.ZodType) {
  const fields = Object.entries(shape);
  return Object.fromEntries(fields.map(([name, field]) => [name, change(field as z.ZodType)]));
}
