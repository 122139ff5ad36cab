// Rows of promises. Each number is an attribute of its own, so that requests that are answered at
// once add to it without waiting for each other.

import * as z from 'zod';
import type { Promises } from '#core/domain/profile/promises.ts';
import { parseRow } from './row-fields.ts';
import type { Row } from './rows.ts';

export const promisesKey = ({ name, revision }: { name: string; revision: number }) => ({
  pk: `PROMISES#${name}#${revision}`,
});

export const attributeOf = (name: 'free' | 'room' | 'given' | 'closed', index: number) =>
  `${name}_${index}`;

const number = z.number();
const common = z.object({
  counted_at: number,
  marks: z.array(z.object({ at: number, given: z.array(number) })),
});

export function toPromises(row: Row): Promises {
  const { counted_at: countedAt, marks } = parseRow(common, row);
  const read = (name: Parameters<typeof attributeOf>[0], index: number) =>
    Number(row[attributeOf(name, index)] ?? 0);
  const alternatives: Promises['alternatives'][number][] = [];
  for (let index = 0; row[attributeOf('free', index)] !== undefined; index += 1) {
    alternatives.push({
      free: read('free', index),
      room: read('room', index),
      given: read('given', index),
      closed: read('closed', index),
    });
  }
  return { countedAt, alternatives, marks };
}
