// A shape is declared once, in snake_case, as reports, rows and answers have it. The domain has
// the same fields in camelCase: its types and the conversions of values follow from the schema.
// Names inside a record, such as the `info` of an attach handle, are data and stay as they are.

import type * as z from 'zod';
import { time } from './time.ts';

type CamelCase<Name> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name extends `${infer Head}-${infer Tail}`
    ? `${Head}${Capitalize<CamelCase<Tail>>}`
    : Name;

type Scalar = string | number | boolean;

/** A value as the domain has it. What may be null or undefined is absent there. */
type Domain<Wire> = Wire extends Scalar
  ? Wire
  : Wire extends readonly (infer Each)[]
    ? readonly Domain<Each>[]
    : {
        readonly [Name in keyof Wire as CamelCase<Name>]: Domain<
          Exclude<Wire[Name], null | undefined>
        >;
      };

/** The domain's type of what a schema describes. */
export type Shaped<Schema extends z.ZodType> = Domain<z.output<Schema>>;

type IsAbsentable<Value> = null extends Value ? true : undefined extends Value ? true : false;

/** What {@link toWire} takes: a field may be absent where the schema allows null or nothing. */
type Given<Wire> = Wire extends Scalar
  ? Wire
  : Wire extends readonly (infer Each)[]
    ? readonly Given<Each>[]
    : {
        readonly [Name in keyof Wire as IsAbsentable<Wire[Name]> extends true
          ? never
          : CamelCase<Name>]: Given<Wire[Name]>;
      } & {
        readonly [Name in keyof Wire as IsAbsentable<Wire[Name]> extends true
          ? CamelCase<Name>
          : never]?: Given<Exclude<Wire[Name], null | undefined>> | null | undefined;
      };

/** The fields of the schema that the value does not even name as optional. */
type Unnamed<Schema extends z.ZodType, Value> = Exclude<
  CamelCase<keyof z.output<Schema>>,
  keyof Value
>;

/**
 * The value by the names of its schema. What is absent is null where the schema allows null, and
 * left out otherwise. Fields that the schema does not have are left out.
 */
export function toWire<Schema extends z.ZodObject, Value extends Given<z.output<Schema>>>(
  schema: Schema,
  value: Value & Record<Unnamed<Schema, Value> & string, unknown>,
): z.output<Schema> {
  return written(toForm(schema), value) as z.output<Schema>;
}

/** The same with undefined for what is absent: an update removes these attributes. */
export function toWholeWire<Schema extends z.ZodObject, Value extends Given<z.output<Schema>>>(
  schema: Schema,
  value: Value & Record<Unnamed<Schema, Value> & string, unknown>,
): Fields {
  const absent = Object.keys(schema.shape).map((name) => [name, undefined]);
  return { ...Object.fromEntries(absent), ...toWire(schema, value) };
}

/** A parsed value as the domain has it. */
export function fromWire<Schema extends z.ZodObject>(
  schema: Schema,
  value: z.output<Schema>,
  isAbsent: (value: unknown) => boolean = isNullish,
): Shaped<Schema> {
  return read(toForm(schema), value, isAbsent) as Shaped<Schema>;
}

/** The fields that the schema has of a larger object of the domain. */
export function pick<Schema extends z.ZodObject, Value extends Shaped<Schema>>(
  schema: Schema,
  value: Value,
): Pick<Value, keyof Shaped<Schema> & keyof Value> {
  const picked: Fields = {};
  for (const { name } of listFields(schema)) {
    const field = (value as Fields)[name];
    if (field !== undefined) picked[name] = field;
  }
  return picked as Pick<Value, keyof Shaped<Schema> & keyof Value>;
}

/** The larger object without the fields of the schema. */
export function omit<Schema extends z.ZodObject, Value extends object>(
  schema: Schema,
  value: Value,
): Omit<Value, keyof Shaped<Schema>> {
  const names = new Set(listFields(schema).map(({ name }) => name));
  const others = Object.entries(value).filter(([name]) => !names.has(name));
  return Object.fromEntries(others) as Omit<Value, keyof Shaped<Schema>>;
}

/** The name of a field in the domain. */
export function camelCase(name: string): string {
  return name.replaceAll(/[_-]([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The inverse. */
export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export function isNullish(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

type Fields = Record<string, unknown>;

/** Undefined where no name inside changes, and no time. */
type Form =
  | 'time'
  | { readonly fields: readonly Field[] }
  | { readonly list: Form }
  | { readonly record: Form }
  | undefined;

interface Field {
  readonly wire: string;
  readonly name: string;
  readonly form: Form;
  readonly isOptional: boolean;
  readonly isNullable: boolean;
}

function written(form: Form, value: unknown): unknown {
  if (form === undefined) return value;
  if (form === 'time') return `${String(value).slice(0, 19)}+00:00`;
  if ('list' in form) return (value as unknown[]).map((each) => written(form.list, each));
  if ('record' in form) return mapValues(value as Fields, (each) => written(form.record, each));
  const result: Fields = {};
  for (const field of form.fields) {
    const inner = (value as Fields)[field.name];
    if (!isNullish(inner)) result[field.wire] = written(field.form, inner);
    else if (field.isNullable && !field.isOptional) result[field.wire] = null;
  }
  return result;
}

function read(form: Form, value: unknown, isAbsent: (value: unknown) => boolean): unknown {
  if (form === undefined || form === 'time') return value;
  if ('list' in form) return (value as unknown[]).map((each) => read(form.list, each, isAbsent));
  if ('record' in form) {
    return mapValues(value as Fields, (each) => read(form.record, each, isAbsent));
  }
  const result: Fields = {};
  for (const field of form.fields) {
    const inner = (value as Fields)[field.wire];
    if (isNullish(inner) || (field.isOptional && isAbsent(inner))) continue;
    result[field.name] = read(field.form, inner, isAbsent);
  }
  return result;
}

/** How the schema was made. */
export function defOf(schema: z.ZodType) {
  return (schema as unknown as z.core.$ZodTypes)._zod.def;
}

/** The schema without what it allows beside a value, and what that is. */
export function unwrapped(schema: z.ZodType): {
  readonly inner: z.ZodType;
  readonly isOptional: boolean;
  readonly isNullable: boolean;
} {
  const def = defOf(schema);
  if (def.type !== 'optional' && def.type !== 'nullable' && def.type !== 'catch') {
    return { inner: schema, isOptional: false, isNullable: false };
  }
  const { inner, isOptional, isNullable } = unwrapped(def.innerType as z.ZodType);
  return {
    inner,
    isOptional: isOptional || def.type === 'optional',
    isNullable: isNullable || def.type === 'nullable',
  };
}

const forms = new WeakMap<z.ZodType, { readonly form: Form }>();

function toForm(schema: z.ZodType): Form {
  const cached = forms.get(schema);
  if (cached) return cached.form;
  const form = createForm(schema);
  forms.set(schema, { form });
  return form;
}

function createForm(schema: z.ZodType): Form {
  const def = defOf(schema);
  // Also with other words of its description.
  if (def === defOf(time)) return 'time';
  switch (def.type) {
    case 'object':
      return {
        fields: Object.entries(def.shape).map(([wire, field]) => {
          const { inner, ...absence } = unwrapped(field as z.ZodType);
          return { wire, name: camelCase(wire), form: toForm(inner), ...absence };
        }),
      };
    case 'array': {
      const list = toForm(def.element as z.ZodType);
      return list && { list };
    }
    case 'record': {
      const record = toForm(def.valueType as z.ZodType);
      return record && { record };
    }
    case 'default':
      return toForm(def.innerType as z.ZodType);
    default:
      return undefined;
  }
}

function listFields(schema: z.ZodObject): readonly Field[] {
  return (toForm(schema) as { readonly fields: readonly Field[] }).fields;
}

function mapValues(values: Fields, change: (value: unknown) => unknown): Fields {
  return Object.fromEntries(Object.entries(values).map(([name, each]) => [name, change(each)]));
}
