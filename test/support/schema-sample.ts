// A value of a schema with every declared field set.

import type * as z from 'zod';
import { defOf, unwrapped } from '#core/shapes/derive/case.ts';

/** What the patterns of the shapes allow; the first that a schema takes is its sample. */
const texts = [
  'a1',
  '0000:3b:00.0',
  '2026-07-01T01:02:03.000Z',
  '2f7c4a3e-0d5b-5d5c-9a39-0c1d6a6f3b11',
  'FPGA',
  'CUSTOM_A',
  '10de:26b9 030200 10de:16a1',
];

export function sampleOf<Schema extends z.ZodType>(schema: Schema): z.output<Schema> {
  return anyOf(unwrapped(schema).inner) as z.output<Schema>;
}

function anyOf(schema: z.ZodType): unknown {
  const def = defOf(schema);
  switch (def.type) {
    case 'object': {
      const fields = Object.entries(def.shape as Record<string, z.ZodType>);
      return Object.fromEntries(fields.map(([name, field]) => [name, sampleOf(field)]));
    }
    case 'array':
      return [sampleOf(def.element as z.ZodType)];
    case 'record': {
      const key = sampleOf(def.keyType as z.ZodType) as string;
      return { [key]: sampleOf(def.valueType as z.ZodType) };
    }
    case 'default':
      return sampleOf(def.innerType as z.ZodType);
    default: {
      const sample = [...texts, 1, true, ...wordsOf(def)].find(
        (each) => schema.safeParse(each).success,
      );
      if (sample === undefined) throw new Error('No sample is allowed: add one to its list.');
      return sample;
    }
  }
}

function wordsOf(def: ReturnType<typeof defOf>): readonly unknown[] {
  if (def.type === 'enum') return Object.values(def.entries);
  return def.type === 'literal' ? def.values : [];
}
