// Rows are snake_case at every level, the domain is camelCase. The shape of a row parses it where
// it enters, and names its fields where it is written.

import type * as z from 'zod';
import { fromWire, type Shaped } from '#core/shapes/derive/case.ts';
import { stored } from '#core/shapes/derive/derive.ts';
import type { Row } from './rows.ts';

const schemas = new WeakMap<z.ZodObject, z.ZodType>();

/**
 * What the shape has of a row, as a domain object.
 *
 * @throws InvalidRow
 */
export function fromRow<Shape extends z.ZodObject>(shape: Shape, row: Row): Shaped<Shape> {
  const schema = schemas.get(shape) ?? stored(shape);
  schemas.set(shape, schema);
  return fromWire(shape, parseRow(schema, row) as z.output<Shape>);
}

/** @throws InvalidRow */
export function parseRow<Schema extends z.ZodType>(schema: Schema, row: Row): z.output<Schema> {
  const parsed = schema.safeParse(row);
  if (!parsed.success) throw new InvalidRow(row, parsed.error);
  return parsed.data;
}

/** The JSON text of one of the row's attributes. */
export function parseText<Schema extends z.ZodType>(
  schema: Schema,
  { pk, sk }: Row,
  text: string,
): z.output<Schema> {
  const parsed = schema.safeParse(JSON.parse(text));
  if (!parsed.success) throw new InvalidRow({ pk, sk }, parsed.error);
  return parsed.data;
}

/**
 * A stored row does not have the form that it was written with, for example after an edit by
 * hand.
 */
class InvalidRow extends Error {
  override readonly name = 'InvalidRow';

  constructor({ pk, sk }: Row, { issues }: z.ZodError) {
    const faults = issues.map(({ path, message }) => `${path.map(String).join('.')}: ${message}`);
    super(`Row ${[pk, sk].filter(Boolean).join(' ')} is invalid: ${faults.join('; ')}`);
  }
}
